//! [E0277] `mem::take` of a domain of which each type has one.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn main() {
    let mut a: RcuDomain<(), Single> = todo!();
    std::mem::take(&mut a);
}
