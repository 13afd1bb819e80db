//! [no rules expected `<`] `domain!` with a parameter.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
quiescent::domain! { struct A<T>; }
fn main() {}
