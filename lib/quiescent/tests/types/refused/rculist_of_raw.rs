//! [E0277] `RcuList<*const u32>`: the value must be Send and Sync.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn is<T>() {}
fn main() {
    is::<RcuList<*const u32>>();
    let _ = std::mem::size_of::<RcuList<*const u32>>();
}
fn f(_: RcuList<*const u32>) {}
