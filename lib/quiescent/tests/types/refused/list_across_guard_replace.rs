//! [E0502] The guard replaced.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn main() {
    let c = RcuList::from_iter([String::new()]);
    let mut g = read_lock();
    let x = c.iter(&g);
    let old = std::mem::replace(&mut g, read_lock());
    drop(x);
}
