//! [E0505] The reference of a Retired.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn main() {
    let c = RcuCell::new(String::new());
    let r = c.store(String::new());
    let x: &String = &r;
    r.retire();
    println!("{x}");
}
