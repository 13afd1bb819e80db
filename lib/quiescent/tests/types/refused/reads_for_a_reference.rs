//! [E0200] `Reads` for `&Routes`.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
quiescent::domain! { struct Routes; }
impl Reads<Global> for &Routes {}
fn main() {}
