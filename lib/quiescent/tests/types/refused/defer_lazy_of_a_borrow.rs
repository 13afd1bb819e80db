//! [E0373] A closure that borrows a local.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn main() {
    let x = String::new();
    defer_lazy(|| println!("{x}"));
}
