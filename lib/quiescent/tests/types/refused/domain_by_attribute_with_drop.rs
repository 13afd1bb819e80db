//! [E0184] An attribute macro that gives the type a destructor.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
quiescent::domain! { #[attributes::with_drop] struct Routes; }
fn main() {}
