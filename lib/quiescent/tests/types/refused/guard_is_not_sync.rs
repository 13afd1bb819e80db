//! [E0277] nor is it shared.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn is<T: Sync>() {}
fn main() {
    is::<Guard>();
}
