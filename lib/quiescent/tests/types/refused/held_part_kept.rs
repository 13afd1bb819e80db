//! [E0521] The function that selects a part keeps nothing of the value.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn main() {
    let cell = RcuCell::new(String::new());
    let mut kept: Option<&String> = None;
    let held = cell.hold(read_lock()).map(|text| {
        kept = Some(text);
        text
    });
    drop(held);
    println!("{kept:?}");
}
