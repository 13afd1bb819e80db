//! [E0505] The guard moved.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn main() {
    let c = RcuList::from_iter([String::new()]);
    let g = read_lock();
    let x = c.iter(&g);
    let b = Box::new(g);
    drop(x);
}
