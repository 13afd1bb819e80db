//! [E0502] `get_mut` of an option beside a reader.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn main() {
    let mut c = RcuOption::new(Some(1));
    let g = read_lock();
    let x = c.load(&g);
    c.get_mut();
    println!("{x:?}");
}
