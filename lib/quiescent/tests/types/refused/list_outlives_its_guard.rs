//! [E0505] Guard dropped while a reference is used.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn main() {
    let c = RcuList::from_iter([String::new()]);
    let g = read_lock();
    let x = c.iter(&g);
    drop(g);
    drop(x);
}
