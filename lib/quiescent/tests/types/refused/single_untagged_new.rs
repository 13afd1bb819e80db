//! [E0277] `new` for the kind of which each type has one domain.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
static A: RcuDomain<(), Single> = RcuDomain::new();
static B: RcuDomain<(), Single> = RcuDomain::new();
fn main() {
    let cell = RcuCell::new_in(1, &A);
    cell.load(&B.read_lock());
}
