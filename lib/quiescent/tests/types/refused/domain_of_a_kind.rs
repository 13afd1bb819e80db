//! [E0061] A domain that a kind makes, asked for in generic code.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn of<K: Kind>() {
    K::found().abandon();
}
fn main() {
    of::<Counted>();
}
