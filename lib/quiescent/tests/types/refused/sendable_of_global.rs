//! [E0277] A guard of the process's domain that may be sent.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn main() {
    let g = Guard::new_in(Sendable(Global));
}
