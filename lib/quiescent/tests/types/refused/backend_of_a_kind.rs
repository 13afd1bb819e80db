//! [E0133] A domain at a place that a kind gets as a pointer.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn open<K: Kind>(place: *const ()) -> K::Backend {
    K::backend(place)
}
fn main() {
    open::<Counted>(0x1000 as *const ());
}
