//! [E0277] A Domain with a `domain!` type as its tag.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
quiescent::domain! { struct Routes; }
fn main() {
    let d = Domain::<Routes>::tagged();
    let c = RcuCell::new_in(1, Routes);
    c.load(&d.read_lock());
}
