//! [E0277] Guard of a `domain!` type.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
quiescent::domain! { struct Routes; }
fn is<T: Send>() {}
fn main() {
    is::<Guard<Routes>>();
}
