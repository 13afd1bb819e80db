//! [E0277] A Retired of a value that is only Send, shared between threads.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn is<T: Sync>() {}
fn main() {
    is::<Retired<std::cell::Cell<u32>>>();
}
