//! [E0200] `Handle` cannot be implemented.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
#[derive(Clone)]
struct A;
impl Handle for A {
    type Brand = Global;
}
impl Reads<Global> for A {}
fn main() {}
