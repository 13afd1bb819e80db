//! [E0599] What a handle leads to, taken out by a projection: its methods.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn of<D: Handle>(d: &D) -> D::OfBackend {
    d.domain_backend()
}
fn main() {
    of(&Domain::new()).domain();
}
