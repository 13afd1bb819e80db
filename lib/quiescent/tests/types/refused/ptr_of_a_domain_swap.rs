//! [E0277] Safe calls of RcuPtr need a domain that is the only one of its type.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
static D: Domain = Domain::new();
fn main() {
    let p: RcuPtr<u32, &'static Domain> = RcuPtr::null_in();
    let g = D.read_lock();
    let _ = p.swap(None, &g);
}
