//! [E0200] `Reads` of the process's domain for a `domain!` type.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
quiescent::domain! { struct Routes; }
impl Reads<Global> for Routes {}
fn main() {
    RcuCell::new(1).load(&Guard::new_in(Routes));
}
