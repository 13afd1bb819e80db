//! [E0308] The other direction.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn f(c: &RcuPtr<fn(&'static u32)>) -> &RcuPtr<for<'a> fn(&'a u32)> {
    c
}
fn main() {}
