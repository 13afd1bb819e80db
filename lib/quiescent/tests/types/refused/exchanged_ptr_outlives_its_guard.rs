//! [E0597] What a pointer's failed exchange found, after its guard.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn main() {
    let c = RcuPtr::new(Box::new(1));
    let e;
    {
        let g = read_lock();
        e = c.compare_exchange(None, None, &g).unwrap_err();
    }
    println!("{:?}", e.current);
}
