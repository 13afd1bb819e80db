//! [E0308] The other direction.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn f(c: &RcuCell<fn(&'static u32)>) -> &RcuCell<for<'a> fn(&'a u32)> {
    c
}
fn main() {}
