//! [E0277] The guard of a `domain!` type shared between threads.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
quiescent::domain! { struct Routes; }
fn is<T: Sync>() {}
fn main() {
    is::<Guard<Routes>>();
}
