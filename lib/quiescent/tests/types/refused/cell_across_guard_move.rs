//! [E0505] The guard moved.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn main() {
    let c = RcuCell::new(String::new());
    let g = read_lock();
    let x = c.load(&g);
    let b = Box::new(g);
    println!("{x}");
}
