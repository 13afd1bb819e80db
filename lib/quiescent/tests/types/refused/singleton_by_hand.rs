//! [E0200] `Singleton` is unsafe to implement.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
#[derive(Clone, Copy, Debug)]
struct A;
impl Singleton for A {
    fn domain() -> &'static RcuDomain<A, Single> {
        loop {}
    }
}
fn main() {}
