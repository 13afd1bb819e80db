//! [E0277] Its other handle types.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
quiescent::domain! { struct Routes; }
fn is<T: Send>() {}
fn main() {
    is::<Guard<RcuDomain<Routes, Single>>>();
}
