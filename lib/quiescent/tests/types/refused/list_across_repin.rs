//! [E0502] Repin ends what was read.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn main() {
    let c = RcuList::from_iter([String::new()]);
    let mut g = read_lock();
    let x = c.iter(&g);
    g.repin();
    drop(x);
}
