//! Handles, Retired, iterators and guards are covariant in what they borrow.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn b<'a>(g: Retired<u32, &'static Domain>) -> Retired<u32, &'a Domain> {
    g
}
fn c<'a>(g: ListIter<'static, u32>) -> ListIter<'a, u32> {
    g
}
fn d<'a>(g: Shared<'static, u32>) -> Shared<'a, u32> {
    g
}
fn e<'a>(g: RcuCell<u32, &'static Domain>) -> RcuCell<u32, &'a Domain> {
    g
}
fn f<'a>(g: RcuList<u32, &'static Domain>) -> RcuList<u32, &'a Domain> {
    g
}
fn main() {}
