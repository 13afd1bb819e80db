//! [implementation of `Reads` is not general enough] Higher-ranked tags are different brands.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
type A = for<'a> fn(&'a u32);
type B = fn(&'static u32);
fn main() {
    let a = Domain::<A>::tagged();
    let b = Domain::<B>::tagged();
    let c: RcuCell<u32, &Domain<A>> = RcuCell::new_in(1, &a);
    let g: Guard<&Domain<B>> = b.read_lock();
    c.load(&g);
}
