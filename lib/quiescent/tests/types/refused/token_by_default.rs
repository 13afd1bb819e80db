//! [E0277] The token that leads to a domain, made by a trait.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn f<D: Handle>(d: &D) {
    d.core_domain(Default::default()).abandon();
}
fn main() {}
