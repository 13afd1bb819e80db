//! [E0425] `domain!` whose type is configured away.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
quiescent::domain! { #[cfg(any())] struct A; }
fn main() {}
