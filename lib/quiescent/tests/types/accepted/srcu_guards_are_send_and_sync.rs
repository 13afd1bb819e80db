//! Guards of an Srcu that may be sent go to other threads.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn is_send<T: Send>() {}
fn is_sync<T: Sync>() {}
fn is_unpin<T: Unpin>() {}
fn main() {
    is_send::<Guard<Sendable<&'static Srcu>>>();
    is_sync::<Guard<Sendable<&'static Srcu>>>();
    is_send::<Guard<Sendable<Srcu>>>();
    is_sync::<Guard<Sendable<Srcu>>>();
    is_send::<Guard<Sendable<Srcu<std::rc::Rc<u8>>>>>();
    is_sync::<Guard<Sendable<Srcu<std::rc::Rc<u8>>>>>();
}
