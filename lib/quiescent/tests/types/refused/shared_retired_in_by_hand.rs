//! [E0133] Retiring a Shared into a handle's domain is unsafe.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn main() {
    let p = RcuPtr::new(Box::new(1));
    let g = read_lock();
    p.load_shared(&g).unwrap().into_retired_in(Global);
}
