//! [E0277] A closure that keeps a guard.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn main() {
    let g = read_lock();
    defer(move || drop(g));
}
