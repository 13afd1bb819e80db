//! [lifetime may not live long enough] An iterator for longer.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn f<'a>(g: ListIter<'a, u32>) -> ListIter<'static, u32> {
    g
}
fn main() {}
