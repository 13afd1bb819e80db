//! [E0061] A section opened in a domain of another kind: its domain is out of reach.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn open<D: Handle, K: Kind>(d: &D) {
    K::open_slowly(d.core_domain());
}
fn main() {
    open::<Domain, Counted>(&Domain::new());
}
