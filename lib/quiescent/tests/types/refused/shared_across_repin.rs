//! [E0502] Repin ends what was read.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn main() {
    let c = RcuPtr::new(Box::new(String::new()));
    let mut g = read_lock();
    let x = c.load_shared(&g);
    g.repin();
    drop(x);
}
