//! [E0507] Nor moving out.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn main() {
    let c = RcuCell::new(String::new());
    let r = c.store(String::new());
    let s: String = *r;
}
