//! [E0133] A section at a place that a kind gets as a pointer is unsafe.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn f<K: Kind>() {
    K::open(0x1000 as *const ());
}
fn main() {}
