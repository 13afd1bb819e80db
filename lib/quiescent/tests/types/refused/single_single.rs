//! [E0133] The hidden constructor is unsafe.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
quiescent::domain! { struct Routes; }
fn main() {
    let d = RcuDomain::<Routes, Single>::single();
}
