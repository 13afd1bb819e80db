//! [lifetime may not live long enough] A guard that borrows a domain for longer.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn f<'a>(g: Guard<&'a Domain>) -> Guard<&'static Domain> {
    g
}
fn main() {}
