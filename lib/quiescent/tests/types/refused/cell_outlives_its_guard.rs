//! [E0505] Guard dropped while a reference is used.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn main() {
    let c = RcuCell::new(String::new());
    let g = read_lock();
    let x = c.load(&g);
    drop(g);
    println!("{x}");
}
