//! [E0502] `current` from before a repin.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn main() {
    let c = RcuCell::new(1);
    let mut g = read_lock();
    let x = c.load(&g);
    g.repin();
    let _ = c.compare_exchange(x, 2, &g);
}
