//! [E0277] `RcuList<std::sync::MutexGuard<'static, u32>>`: the value must be Send and Sync.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn is<T>() {}
fn main() {
    is::<RcuList<std::sync::MutexGuard<'static, u32>>>();
    let _ = std::mem::size_of::<RcuList<std::sync::MutexGuard<'static, u32>>>();
}
fn f(_: RcuList<std::sync::MutexGuard<'static, u32>>) {}
