//! [E0599] A guard cannot be copied.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn main() {
    let g = read_lock();
    let h = g.clone();
}
