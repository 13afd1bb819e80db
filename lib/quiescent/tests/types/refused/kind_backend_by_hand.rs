//! [E0133] A kind's backend from a pointer is unsafe.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn f<K: Kind>() {
    K::backend(std::ptr::null());
}
fn main() {}
