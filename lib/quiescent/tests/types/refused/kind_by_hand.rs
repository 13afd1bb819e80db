//! [E0277] `Kind` cannot be implemented.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
struct A;
impl Kind for A {}
fn main() {}
