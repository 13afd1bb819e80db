//! [E0521] The closure of `update` keeps what it is given.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn main() {
    let c = RcuCell::new(String::new());
    let mut kept: Option<&String> = None;
    c.update(|s| {
        kept = Some(s);
        s.clone()
    })
    .retire();
    println!("{kept:?}");
}
