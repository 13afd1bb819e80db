//! [lifetime may not live long enough] A Retired that borrows a domain for longer.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn f<'a>(g: Retired<u32, &'a Domain>) -> Retired<u32, &'static Domain> {
    g
}
fn main() {}
