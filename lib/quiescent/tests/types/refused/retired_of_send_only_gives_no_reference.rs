//! [E0308] No Deref for a value that is not Sync.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn f(r: &Retired<std::cell::Cell<u32>>) -> &std::cell::Cell<u32> {
    r
}
fn main() {}
