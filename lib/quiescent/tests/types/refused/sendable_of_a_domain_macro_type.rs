//! [E0277] A guard of a `domain!` type that may be sent.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
quiescent::domain! { struct Routes; }
fn main() {
    let g = Guard::new_in(Sendable(Routes));
}
