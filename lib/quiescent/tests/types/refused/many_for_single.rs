//! [E0117] `Many` for the kind of which each type has one domain.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
impl Many for Single {}
fn main() {}
