//! [E0308] A section opened in a domain of another kind.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn of<D: Handle>(d: &D) -> D::OfBackend {
    d.domain_backend()
}
fn open<K: Kind>(backend: K::Backend) -> K::Section {
    K::open_slowly(backend)
}
fn main() {
    open::<Counted>(of(&Domain::new()));
}
