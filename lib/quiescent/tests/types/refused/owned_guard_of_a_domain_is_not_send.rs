//! [E0277] Guard that keeps a domain.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn is<T: Send>() {}
fn main() {
    is::<Guard<Domain>>();
}
