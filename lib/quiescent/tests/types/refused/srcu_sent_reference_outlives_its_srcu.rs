//! [E0505] An Srcu dropped while a guard that may be sent borrows it.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn main() {
    let s = Srcu::new();
    let g = s.read_lock_send();
    drop(s);
    drop(g);
}
