//! [E0599] `tagged` for the kind that exists once.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
quiescent::domain! { struct Routes; }
fn main() {
    let d = RcuDomain::<Routes, Single>::tagged();
}
