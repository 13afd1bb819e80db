//! [E0277] A guard of the process stays on its thread.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn is<T: Send>() {}
fn main() {
    is::<Guard>();
}
