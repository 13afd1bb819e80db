//! [E0277] `RcuOption<std::rc::Rc<u32>>`: the value must be Send and Sync.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn is<T>() {}
fn main() {
    is::<RcuOption<std::rc::Rc<u32>>>();
    let _ = std::mem::size_of::<RcuOption<std::rc::Rc<u32>>>();
}
fn f(_: RcuOption<std::rc::Rc<u32>>) {}
