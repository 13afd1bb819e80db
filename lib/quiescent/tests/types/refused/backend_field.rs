//! [E0616] What a handle leads to, taken out by a projection: its field.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn of<D: Handle>(d: &D) -> D::OfBackend {
    d.domain_backend()
}
fn main() {
    of(&Domain::new()).0;
}
