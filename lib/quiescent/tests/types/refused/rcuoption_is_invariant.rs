//! [E0308] Higher-ranked function types are no way to another value type either.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn f(c: &RcuOption<for<'a> fn(&'a u32)>) -> &RcuOption<fn(&'static u32)> {
    c
}
fn main() {}
