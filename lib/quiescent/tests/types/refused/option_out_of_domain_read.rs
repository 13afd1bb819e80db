//! [lifetime may not live long enough] A reference returned from `Domain::read`, with the domain's lifetime.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
static D: Domain = Domain::new();
fn main() {
    let d: &'static Domain = &D;
    let c = RcuOption::new_in(Some(String::new()), d);
    let x = d.read(|g| c.load(g));
    drop(x);
}
