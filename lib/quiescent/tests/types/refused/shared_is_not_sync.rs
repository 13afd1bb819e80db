//! [E0277] A Shared shared between threads.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn is<T: Sync>() {}
fn main() {
    is::<Shared<'static, u32>>();
}
