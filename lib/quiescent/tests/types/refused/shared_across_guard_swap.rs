//! [E0502] The guard swapped away.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn main() {
    let c = RcuPtr::new(Box::new(String::new()));
    let mut g = read_lock();
    let mut h = read_lock();
    let x = c.load_shared(&g);
    std::mem::swap(&mut g, &mut h);
    drop(x);
}
