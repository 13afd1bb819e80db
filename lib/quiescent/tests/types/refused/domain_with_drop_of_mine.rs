//! [E0184] Drop for a `domain!` type.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
quiescent::domain! { struct Routes; }
impl Drop for Routes {
    fn drop(&mut self) {}
}
fn main() {}
