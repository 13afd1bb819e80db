//! [E0597] What `swap` returns.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn main() {
    let c = RcuPtr::new(Box::new(1));
    let s;
    {
        let g = read_lock();
        s = c.swap(None, &g);
    }
    println!("{s:?}");
}
