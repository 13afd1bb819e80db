//! [E0133] A function that frees what sections may still read.
#![forbid(unsafe_code)]
#![allow(unused)]
fn main() {
    let mut x = 1;
    quiescent::retire(&mut x, |_| ());
}
