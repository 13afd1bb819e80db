//! Domains, whatever their tag.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
quiescent::domain! { struct Routes; }
fn is_send<T: Send>() {}
fn is_sync<T: Sync>() {}
fn is_unpin<T: Unpin>() {}
fn main() {
    is_send::<Domain>();
    is_sync::<Domain>();
    is_send::<Srcu>();
    is_sync::<Srcu>();
    is_send::<Domain<std::rc::Rc<u8>>>();
    is_sync::<Domain<std::rc::Rc<u8>>>();
    is_send::<Srcu<*const u8>>();
    is_sync::<Srcu<*const u8>>();
    is_send::<Routes>();
    is_sync::<Routes>();
    is_send::<Global>();
    is_sync::<Global>();
}
