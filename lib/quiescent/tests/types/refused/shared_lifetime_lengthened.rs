//! [lifetime may not live long enough] A Shared for longer.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn f<'a>(g: Shared<'a, u32>) -> Shared<'static, u32> {
    g
}
fn main() {}
