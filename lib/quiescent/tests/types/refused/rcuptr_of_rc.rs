//! [E0277] `RcuPtr<std::rc::Rc<u32>>`: the value must be Send and Sync.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn is<T>() {}
fn main() {
    is::<RcuPtr<std::rc::Rc<u32>>>();
    let _ = std::mem::size_of::<RcuPtr<std::rc::Rc<u32>>>();
}
fn f(_: RcuPtr<std::rc::Rc<u32>>) {}
