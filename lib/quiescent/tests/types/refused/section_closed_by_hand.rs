//! [E0133] Closing a section twice is unsafe.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn f<D: Handle>(d: &D) {
    let s = d.open_section();
    d.close_section(&s);
}
fn main() {}
