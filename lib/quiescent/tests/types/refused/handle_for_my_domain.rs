//! [E0119, E0200] `Handle` for a `domain!` type.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
quiescent::domain! { struct Routes; }
impl Handle for Routes {
    type Brand = Global;
}
fn main() {}
