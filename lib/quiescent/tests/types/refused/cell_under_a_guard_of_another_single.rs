//! [E0277] Two `domain!` types.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
quiescent::domain! { struct A; }
quiescent::domain! { struct B; }
fn main() {
    let c = RcuCell::new_in(1, A);
    c.load(&Guard::new_in(B));
}
