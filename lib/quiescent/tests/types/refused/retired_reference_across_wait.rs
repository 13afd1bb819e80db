//! [E0505] A reference into a Retired across `wait`.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn main() {
    let c = RcuCell::new(String::new());
    let r = c.store(String::new());
    let x: &String = &r;
    let b = r.wait();
    println!("{x}{b}");
}
