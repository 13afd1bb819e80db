//! [E0277] An Srcu guard of `read_lock` is shared by threads.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
static S: Srcu = Srcu::new();
fn main() {
    let g = S.read_lock();
    std::thread::scope(|t| {
        t.spawn(|| {
            let _ = &g;
        });
    });
}
