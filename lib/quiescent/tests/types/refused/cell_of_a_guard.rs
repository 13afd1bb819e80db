//! [E0277] A guard as a value.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn main() {
    let c = RcuCell::new(read_lock());
}
