//! [E0277] Weighed by a type that does not say what it owns.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
struct Routes(Vec<String>);
fn main() {
    let c = RcuCell::new(Routes(vec![])).weighed();
}
