//! [E0599] `new` for a `domain!` type.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
quiescent::domain! { struct Routes; }
fn main() {
    let d = RcuDomain::<Routes, Single>::new();
}
