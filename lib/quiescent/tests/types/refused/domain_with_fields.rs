//! [no rules expected `(`] `domain!` with a field.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
quiescent::domain! { struct A(u32); }
fn main() {}
