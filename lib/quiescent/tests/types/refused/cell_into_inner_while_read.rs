//! [E0505] `into_inner` beside a reader.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn main() {
    let c = RcuCell::new(1);
    let g = read_lock();
    let x = c.load(&g);
    c.into_inner();
    println!("{x}");
}
