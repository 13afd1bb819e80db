//! [E0308] COMPLETED belongs to the process's domain.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn main() {
    let c: Cookie<Domain> = Cookie::COMPLETED;
}
