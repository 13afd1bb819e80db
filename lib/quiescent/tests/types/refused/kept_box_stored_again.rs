//! [E0382] A box given to a pointer is gone.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn main() {
    let p = RcuPtr::null();
    let b = Box::new(1);
    p.store(Some(b));
    p.store(Some(b));
}
