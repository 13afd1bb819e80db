//! [E0308] The other direction.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn f(c: &RcuOption<fn(&'static u32)>) -> &RcuOption<for<'a> fn(&'a u32)> {
    c
}
fn main() {}
