//! [E0599] What a handle leads to has no callable functions by path.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn f<D: Handle>(b: D::OfBackend) {
    D::OfBackend::set_drained(b, true);
}
fn main() {}
