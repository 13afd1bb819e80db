//! [E0596] No mutable access: readers may be there.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn main() {
    let c = RcuCell::new(String::new());
    let mut r = c.store(String::new());
    r.push('x');
}
