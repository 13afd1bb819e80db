//! Guards of an Srcu go to other threads.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn is_send<T: Send>() {}
fn is_sync<T: Sync>() {}
fn is_unpin<T: Unpin>() {}
fn main() {
    is_send::<Guard<&'static Srcu>>();
    is_sync::<Guard<&'static Srcu>>();
    is_send::<Guard<Srcu>>();
    is_sync::<Guard<Srcu>>();
    is_send::<Guard<Srcu<std::rc::Rc<u8>>>>();
    is_sync::<Guard<Srcu<std::rc::Rc<u8>>>>();
}
