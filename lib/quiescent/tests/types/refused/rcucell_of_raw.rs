//! [E0277] `RcuCell<*const u32>`: the value must be Send and Sync.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn is<T>() {}
fn main() {
    is::<RcuCell<*const u32>>();
    let _ = std::mem::size_of::<RcuCell<*const u32>>();
}
fn f(_: RcuCell<*const u32>) {}
