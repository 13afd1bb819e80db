//! [E0204, E0277] An attribute macro that puts an Rc into the type.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
quiescent::domain! { #[attributes::with_rc] struct Routes; }
fn main() {}
