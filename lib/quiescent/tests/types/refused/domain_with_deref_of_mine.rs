//! [E0119] A second Deref for a `domain!` type.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
quiescent::domain! { struct Routes; }
impl std::ops::Deref for Routes {
    type Target = Domain;
    fn deref(&self) -> &Domain {
        loop {}
    }
}
fn main() {}
