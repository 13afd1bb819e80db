//! [E0200] `Unique` for a `domain!` type.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
quiescent::domain! { struct Routes; }
impl Unique for Routes {}
fn main() {}
