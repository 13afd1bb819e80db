//! [E0425] An attribute macro that renames the type.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
quiescent::domain! { #[attributes::renamed] struct Routes; }
fn main() {}
