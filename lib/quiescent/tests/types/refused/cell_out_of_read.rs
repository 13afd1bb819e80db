//! [lifetime may not live long enough] A reference returned from `read`.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn main() {
    let c = RcuCell::new(String::new());
    let x = read(|g| {
        let g = g;
        c.load(g)
    });
    println!("{x}");
}
