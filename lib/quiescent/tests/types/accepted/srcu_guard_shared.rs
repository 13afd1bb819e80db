//! An Srcu guard shared by scoped threads.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn main() {
    let s = Srcu::new();
    let c = RcuCell::new_in(1, &s);
    let g = s.read_lock_send();
    std::thread::scope(|t| {
        t.spawn(|| c.load(&g));
        t.spawn(|| c.load(&g));
    });
}
