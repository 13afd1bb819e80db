//! [E0521] The closure of a writer keeps what it is given.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn main() {
    let c = RcuList::from_iter([String::new()]);
    let mut kept: Option<&String> = None;
    c.remove_first(|s| {
        kept = Some(s);
        true
    });
    println!("{kept:?}");
}
