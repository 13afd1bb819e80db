//! [E0277] `Kind` for a `domain!` type.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
quiescent::domain! { struct Routes; }
impl Kind for Routes {}
fn main() {}
