//! [E0505] The domain dropped first.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn main() {
    let d = Domain::new();
    let x = d.read_lock();
    drop(d);
    drop(x);
}
