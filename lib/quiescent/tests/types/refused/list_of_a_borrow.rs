//! [E0505, E0597] A borrowed value in it.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn main() {
    let local = String::new();
    let c = RcuList::from_iter([&local]);
    drop(local);
}
