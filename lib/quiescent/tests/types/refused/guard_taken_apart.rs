//! [E0509] Nor taken apart.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn f(g: Guard) {
    let Guard { section, .. } = g;
}
fn main() {}
