//! [E0599] What a handle leads to takes no callbacks.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn f<D: Handle>(d: &D) {
    let b = d.domain_backend();
    b.drain(todo!());
}
fn main() {}
