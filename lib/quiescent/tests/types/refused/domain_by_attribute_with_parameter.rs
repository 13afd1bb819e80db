//! [E0107] An attribute macro that gives the type a parameter.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
quiescent::domain! { #[attributes::with_parameter] struct Routes; }
fn main() {}
