//! Of a value that is Send and Sync.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn is<T: Send>(_: T) {}
fn f(r: Retired<String, Domain>, q: Retired<String>) {
    is(r.wait_async());
    is(q.try_wait_async());
}
fn main() {}
