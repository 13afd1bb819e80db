//! [E0502] Two domains swapped while one has a guard.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn main() {
    let (mut d, mut e) = (Domain::new(), Domain::new());
    let g = d.read_lock();
    std::mem::swap(&mut d, &mut e);
    drop(g);
}
