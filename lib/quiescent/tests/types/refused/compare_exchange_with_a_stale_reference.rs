//! [E0505] `current` loaded under a guard that is gone.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn main() {
    let c = RcuCell::new(1);
    let g = read_lock();
    let x = c.load(&g);
    drop(g);
    let h = read_lock();
    let _ = c.compare_exchange(x, 2, &h);
}
