//! [E0277] `Retired<Cell>`: other threads may still read it.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn is<T: Send>() {}
fn main() {
    is::<Retired<std::cell::Cell<u32>>>();
}
