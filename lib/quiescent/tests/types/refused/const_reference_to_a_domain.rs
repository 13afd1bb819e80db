//! [E0492] A domain behind a constant.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
const D: &Domain = &Domain::new();
fn main() {}
