//! [E0639] `Refused` cannot be made.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn main() {
    let r = Refused {
        object: 1,
        reason: 2,
    };
}
