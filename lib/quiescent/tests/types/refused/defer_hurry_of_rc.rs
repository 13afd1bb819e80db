//! [E0277] A closure with an Rc.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn main() {
    let rc = std::rc::Rc::new(1);
    defer_hurry(move || drop(rc));
}
