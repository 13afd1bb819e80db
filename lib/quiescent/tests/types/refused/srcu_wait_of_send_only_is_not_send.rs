//! [E0277] The future of `wait_async` of a value that is not Sync.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn is<T: Send>(_: T) {}
fn f(r: Retired<std::cell::Cell<u32>>) {
    is(r.wait_async());
}
fn main() {}
