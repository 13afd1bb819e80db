//! [E0117] An attribute macro that makes the type another name of the process's domain.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
quiescent::domain! { #[attributes::alias_of_global] struct Routes; }
fn main() {}
