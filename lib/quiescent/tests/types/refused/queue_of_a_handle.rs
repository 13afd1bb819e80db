//! [E0061] The calling thread's queue in a domain, asked for in generic code.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn of<D: Handle>(d: &D) {
    d.own_queue();
}
fn main() {
    of(&Domain::new());
}
