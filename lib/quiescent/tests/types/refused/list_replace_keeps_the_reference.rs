//! [E0521] `replace` of a list: what the closure sees is kept.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn main() {
    let c = RcuList::from_iter([String::new()]);
    let mut kept: Option<&String> = None;
    let _ = c.replace(String::new(), |s| {
        kept = Some(s);
        true
    });
    println!("{kept:?}");
}
