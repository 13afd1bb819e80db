//! [E0277] `RcuCell<std::cell::Cell<u32>>`: the value must be Send and Sync.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn is<T>() {}
fn main() {
    is::<RcuCell<std::cell::Cell<u32>>>();
    let _ = std::mem::size_of::<RcuCell<std::cell::Cell<u32>>>();
}
fn f(_: RcuCell<std::cell::Cell<u32>>) {}
