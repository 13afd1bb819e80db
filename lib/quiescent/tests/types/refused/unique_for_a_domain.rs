//! [E0117, E0200] `Unique` for a domain with a tag of mine.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
struct A;
impl Unique for RcuDomain<A, PerThread> {}
fn main() {}
