//! [E0308] Higher-ranked function types are no way to another value type either.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn f(c: &RcuList<for<'a> fn(&'a u32)>) -> &RcuList<fn(&'static u32)> {
    c
}
fn main() {}
