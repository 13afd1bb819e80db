//! [E0502] The guard replaced.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn main() {
    let c = RcuOption::new(Some(String::new()));
    let mut g = read_lock();
    let x = c.load(&g);
    let old = std::mem::replace(&mut g, read_lock());
    drop(x);
}
