//! [E0277] `Pin<Box<Guard>>`.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn is<T: Send>() {}
fn main() {
    is::<std::pin::Pin<Box<Guard>>>();
}
