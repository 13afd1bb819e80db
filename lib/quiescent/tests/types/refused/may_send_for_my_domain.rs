//! [E0200] Guards of a `domain!` type that may be sent.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
quiescent::domain! { struct Routes; }
impl MaySend for Routes {}
fn main() {}
