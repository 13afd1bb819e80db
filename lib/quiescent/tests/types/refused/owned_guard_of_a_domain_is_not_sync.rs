//! [E0277] A guard that keeps its domain shared between threads.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn is<T: Sync>() {}
fn main() {
    is::<Guard<Domain>>();
}
