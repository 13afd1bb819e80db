//! [E0061] What a handle leads to, asked for in generic code.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn of<D: Handle>(d: &D) {
    d.core_domain().abandon();
}
fn main() {
    of(&Domain::new());
}
