//! [E0119] A second Clone.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
quiescent::domain! { struct Routes; }
impl Clone for Routes {
    fn clone(&self) -> Routes {
        loop {}
    }
}
fn main() {}
