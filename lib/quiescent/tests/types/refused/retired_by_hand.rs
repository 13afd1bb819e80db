//! [E0133] A Retired from a pointer is unsafe.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn main() {
    Retired::from_raw(std::ptr::NonNull::from(Box::leak(Box::new(1))));
}
