//! [E0277] A found object stays with its guard.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn is<T: Send>() {}
fn main() {
    is::<Shared<'static, u32>>();
}
