//! [E0502] A pointer's `current` from before a repin.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn main() {
    let c = RcuPtr::new(Box::new(1));
    let mut g = read_lock();
    let x = c.load_shared(&g);
    g.repin();
    let _ = c.compare_exchange(x, None, &g);
}
