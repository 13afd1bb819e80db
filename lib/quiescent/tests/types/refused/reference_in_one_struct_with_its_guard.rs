//! [E0502] Self-reference of a guard and what it protects.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
struct Both<'a> {
    g: Guard,
    x: std::cell::OnceCell<&'a u32>,
}
fn main() {
    let c = RcuCell::new(1);
    let mut b = Both {
        g: read_lock(),
        x: Default::default(),
    };
    let _ = b.x.set(c.load(&b.g));
    b.g.repin();
    println!("{:?}", b.x);
}
