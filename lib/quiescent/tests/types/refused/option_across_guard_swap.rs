//! [E0502] The guard swapped away.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn main() {
    let c = RcuOption::new(Some(String::new()));
    let mut g = read_lock();
    let mut h = read_lock();
    let x = c.load(&g);
    std::mem::swap(&mut g, &mut h);
    drop(x);
}
