//! [E0277] A guard of a Domain that may be sent.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
static D: Domain = Domain::new();
fn main() {
    let g = Guard::new_in(Sendable(&D));
}
