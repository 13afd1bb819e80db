//! [E0133] Retiring a Shared is unsafe.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn main() {
    let p = RcuPtr::new(Box::new(1));
    let g = read_lock();
    p.load_shared(&g).unwrap().into_retired();
}
