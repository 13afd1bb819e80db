//! [E0277] No `leak` either.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn f(r: Retired<std::cell::Cell<u32>>) -> &'static std::cell::Cell<u32> {
    r.leak()
}
fn main() {}
