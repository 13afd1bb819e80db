//! [E0277] An Srcu's guard for a Domain's cell.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn main() {
    let d = Domain::new();
    let s = Srcu::new();
    let c = RcuCell::new_in(1, &d);
    let g = s.read_lock();
    c.load(&g);
}
