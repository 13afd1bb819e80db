//! [E0451] A guard has private fields.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn main() {
    let g: Guard = Guard {
        section: todo!(),
        domain: Global,
    };
}
