//! [E0277] `RcuPtr<*const u32>`: the value must be Send and Sync.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn is<T>() {}
fn main() {
    is::<RcuPtr<*const u32>>();
    let _ = std::mem::size_of::<RcuPtr<*const u32>>();
}
fn f(_: RcuPtr<*const u32>) {}
