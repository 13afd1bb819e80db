//! [E0119] An attribute macro that makes the type another name of a `domain!` type.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
quiescent::domain! { struct Names; }
quiescent::domain! { #[attributes::alias_of_names] struct Routes; }
fn main() {}
