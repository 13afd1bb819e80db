//! [E0428, E0119] An attribute macro that makes two types of one.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
quiescent::domain! { #[attributes::twice] struct Routes; }
fn main() {}
