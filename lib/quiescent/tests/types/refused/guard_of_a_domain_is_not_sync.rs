//! [E0277] A domain's guard shared between threads.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn is<T: Sync>() {}
fn main() {
    is::<Guard<&'static Domain>>();
}
