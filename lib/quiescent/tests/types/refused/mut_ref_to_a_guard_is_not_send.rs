//! [E0277] `&mut Guard` to another thread.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn is<T: Send>() {}
fn main() {
    is::<&'static mut Guard>();
}
