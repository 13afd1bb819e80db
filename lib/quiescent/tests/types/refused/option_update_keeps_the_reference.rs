//! [E0521] `update` of an option: what the closure sees is kept.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn main() {
    let c = RcuOption::new(Some(String::new()));
    let mut kept: Option<&String> = None;
    c.update(|s| {
        kept = s;
        s.cloned()
    });
    println!("{kept:?}");
}
