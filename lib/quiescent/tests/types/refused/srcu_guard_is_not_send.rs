//! [E0277] An Srcu guard of `read_lock` goes to another thread.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
static S: Srcu = Srcu::new();
fn main() {
    let g = S.read_lock();
    std::thread::spawn(move || drop(g));
}
