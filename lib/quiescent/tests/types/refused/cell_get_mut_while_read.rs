//! [E0502] `get_mut` beside a reader.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn main() {
    let mut c = RcuCell::new(1);
    let g = read_lock();
    let x = c.load(&g);
    *c.get_mut() = 2;
    println!("{x}");
}
