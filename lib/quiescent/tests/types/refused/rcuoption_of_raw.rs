//! [E0277] `RcuOption<*const u32>`: the value must be Send and Sync.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn is<T>() {}
fn main() {
    is::<RcuOption<*const u32>>();
    let _ = std::mem::size_of::<RcuOption<*const u32>>();
}
fn f(_: RcuOption<*const u32>) {}
