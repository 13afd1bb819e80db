//! [E0451] A cookie has private fields.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn main() {
    let c = Cookie {
        point: todo!(),
        ..Cookie::COMPLETED
    };
}
