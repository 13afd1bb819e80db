//! [E0277] Tags differ.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
struct A;
struct B;
fn main() {
    let a = Domain::<A>::tagged();
    let b = Domain::<B>::tagged();
    let c = RcuCell::new_in(1, &a);
    c.load(&b.read_lock());
}
