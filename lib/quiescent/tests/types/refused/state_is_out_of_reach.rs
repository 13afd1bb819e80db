//! [E0599] What a handle leads to shows no state.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn f<D: Handle>(d: &D) {
    d.domain_backend().state();
}
fn main() {}
