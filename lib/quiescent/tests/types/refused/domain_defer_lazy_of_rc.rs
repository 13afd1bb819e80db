//! [E0277] A domain's `defer_lazy` of a closure with an Rc.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn main() {
    let d = Domain::new();
    let rc = std::rc::Rc::new(1);
    d.defer_lazy(move || drop(rc));
}
