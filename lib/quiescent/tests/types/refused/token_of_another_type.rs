//! [E0308] Another value in place of the token that leads to a domain.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn f<D: Handle>(d: &D) {
    d.core_domain(()).abandon();
}
fn main() {}
