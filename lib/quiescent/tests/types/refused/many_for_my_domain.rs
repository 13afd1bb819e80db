//! [E0277] `Many` for a `domain!` type.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
quiescent::domain! { struct Routes; }
impl Many for Routes {}
fn main() {}
