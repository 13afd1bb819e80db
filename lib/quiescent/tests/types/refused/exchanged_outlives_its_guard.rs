//! [E0597] What a failed exchange returns.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn main() {
    let c = RcuCell::new(1);
    let e;
    {
        let g = read_lock();
        let h = read_lock();
        let x = c.load(&g);
        e = c.compare_exchange(&7, 2, &g).map(|_| ()).unwrap_err();
    }
    println!("{}", e.current);
}
