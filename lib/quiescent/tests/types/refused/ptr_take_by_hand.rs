//! [E0133] Taking an object back is unsafe.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn main() {
    let mut p = RcuPtr::new(Box::new(1));
    p.take();
}
