//! [E0277] Guard that borrows a domain.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn is<T: Send>() {}
fn main() {
    is::<Guard<&'static Domain>>();
}
