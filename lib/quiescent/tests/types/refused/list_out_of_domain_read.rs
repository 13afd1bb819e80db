//! [lifetime may not live long enough] A reference returned from `Domain::read`, with the domain's lifetime.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
static D: Domain = Domain::new();
fn main() {
    let d: &'static Domain = &D;
    let c = RcuList::<String, &Domain>::new_in(d);
    let x = d.read(|g| c.iter(g));
    drop(x);
}
