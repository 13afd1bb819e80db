//! [E0277] An Srcu guard of `read_owned` goes to another thread.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn main() {
    let g = Srcu::new().read_owned();
    std::thread::spawn(move || drop(g));
}
