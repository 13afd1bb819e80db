//! [E0505] `into_inner` of an option beside a reader.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn main() {
    let c = RcuOption::new(Some(1));
    let g = read_lock();
    let x = c.load(&g);
    c.into_inner();
    println!("{x:?}");
}
