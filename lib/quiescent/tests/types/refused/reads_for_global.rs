//! [E0117, E0200] `Reads` of my brand for Global's guard.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
struct A;
impl Reads<RcuDomain<A, PerThread>> for Global {}
fn main() {}
