//! [E0119, E0428] `domain!` twice with one name.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
quiescent::domain! { struct A; }
quiescent::domain! { struct A; }
fn main() {}
