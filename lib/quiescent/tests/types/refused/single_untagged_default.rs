//! [E0599] `default` for the kind of which each type has one domain.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn main() {
    let (a, b) = (
        RcuDomain::<(), Single>::default(),
        RcuDomain::<(), Single>::default(),
    );
    RcuCell::new_in(1, &a).load(&b.read_lock());
}
