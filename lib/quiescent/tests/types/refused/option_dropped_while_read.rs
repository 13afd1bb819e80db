//! [E0505] The owner dropped.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn main() {
    let c = RcuOption::new(Some(String::new()));
    let g = read_lock();
    let x = c.load(&g);
    drop(c);
    drop(x);
}
