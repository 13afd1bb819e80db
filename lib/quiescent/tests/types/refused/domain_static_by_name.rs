//! [E0425] Its static cannot be named.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
quiescent::domain! { struct Routes; }
fn main() {
    let _ = &DOMAIN;
}
