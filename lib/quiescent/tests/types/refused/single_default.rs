//! [E0599] `default` for a `domain!` type.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
quiescent::domain! { struct Routes; }
fn main() {
    let d = RcuDomain::<Routes, Single>::default();
}
