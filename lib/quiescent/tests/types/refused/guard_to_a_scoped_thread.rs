//! [E0277] `&Guard` in a scoped thread.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn main() {
    let c = RcuCell::new(1);
    let g = read_lock();
    std::thread::scope(|s| {
        s.spawn(|| c.load(&g));
    });
}
