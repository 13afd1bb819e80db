//! [E0502] Repin ends what was read.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn main() {
    let c = RcuOption::new(Some(String::new()));
    let mut g = read_lock();
    let x = c.load(&g);
    g.repin();
    drop(x);
}
