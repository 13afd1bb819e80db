//! [lifetime may not live long enough] A cell of `&'static str` seen as one of `&'a str` (invariance).
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn f<'a>(c: &RcuOption<&'static str>, s: &'a str) {
    let c: &RcuOption<&'a str> = c;
    c.store(Some(s));
}
fn main() {}
