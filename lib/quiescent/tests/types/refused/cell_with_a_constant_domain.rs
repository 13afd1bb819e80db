//! [E0716] A constant domain is a temporary.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
const D: Domain = Domain::new();
fn main() {
    let c = RcuCell::new_in(1, &D);
    c.store(2);
}
