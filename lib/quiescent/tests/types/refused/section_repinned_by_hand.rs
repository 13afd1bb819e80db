//! [E0133] Repinning a section twice is unsafe.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn f<D: Handle>(d: &D) {
    let mut s = d.open_section();
    d.repin_section(&mut s);
}
fn main() {}
