//! [E0597] A borrow stored in a cell of `&'static str`.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
static S: RcuOption<&'static str> = RcuOption::empty();
fn main() {
    let local = String::from("x");
    S.store(Some(&local));
}
