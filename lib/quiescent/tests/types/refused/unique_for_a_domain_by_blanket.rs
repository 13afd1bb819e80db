//! [E0200, E0210] `Unique` for every type.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
impl<T> Unique for T {}
fn main() {}
