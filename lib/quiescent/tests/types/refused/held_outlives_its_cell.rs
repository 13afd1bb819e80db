//! [E0505] A held value borrows its cell.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn main() {
    let cell = RcuCell::new((1, 2));
    let held = cell.hold(read_lock()).map(|pair| &pair.0);
    drop(cell);
    println!("{}", *held);
}
