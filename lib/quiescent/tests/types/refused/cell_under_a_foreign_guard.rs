//! [E0277] A guard of the process for a domain's cell.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn main() {
    let d = Domain::new();
    let c = RcuCell::new_in(1, &d);
    let g = read_lock();
    c.load(&g);
}
