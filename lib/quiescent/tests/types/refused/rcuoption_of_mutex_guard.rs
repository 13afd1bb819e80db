//! [E0277] `RcuOption<std::sync::MutexGuard<'static, u32>>`: the value must be Send and Sync.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn is<T>() {}
fn main() {
    is::<RcuOption<std::sync::MutexGuard<'static, u32>>>();
    let _ = std::mem::size_of::<RcuOption<std::sync::MutexGuard<'static, u32>>>();
}
fn f(_: RcuOption<std::sync::MutexGuard<'static, u32>>) {}
