//! [E0597] Self-reference: a Retired in one struct with the domain that it borrows.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
struct Both<'a> {
    d: Domain,
    x: std::cell::OnceCell<Retired<u32, &'a Domain>>,
}
fn main() {
    let b = Both {
        d: Domain::new(),
        x: Default::default(),
    };
    let c = RcuCell::new_in(1, b.d.clone());
    let e = RcuCell::new_in(1, &b.d);
    let _ = b.x.set(e.store(2));
}
