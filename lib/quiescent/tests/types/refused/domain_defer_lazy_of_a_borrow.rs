//! [E0373] A domain's `defer_lazy` of a closure that borrows a local.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn main() {
    let d = Domain::new();
    let x = String::new();
    d.defer_lazy(|| println!("{x}"));
}
