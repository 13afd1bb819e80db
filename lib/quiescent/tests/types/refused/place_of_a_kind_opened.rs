//! [E0133] A section at a place that a kind gets as a pointer.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn open<K: Kind>(place: *const ()) -> bool {
    K::open(place).is_some()
}
fn main() {
    open::<Counted>(0x1000 as *const ());
}
