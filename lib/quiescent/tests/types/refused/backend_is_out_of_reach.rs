//! [E0599] What a handle leads to has no callable methods.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn f<D: Handle>(d: &D) {
    d.domain_backend().domain();
}
fn main() {}
