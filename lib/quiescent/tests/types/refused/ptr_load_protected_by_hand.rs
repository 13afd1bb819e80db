//! [E0133] Loading without a guard is unsafe.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn main() {
    let p = RcuPtr::new(Box::new(1));
    p.load_protected();
}
