//! [E0505] The owner dropped.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn main() {
    let c = RcuList::from_iter([String::new()]);
    let g = read_lock();
    let x = c.iter(&g);
    drop(c);
    drop(x);
}
