//! [E0597] Self-reference: the struct has both.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
struct Both<'a> {
    d: Domain,
    x: std::cell::OnceCell<T<'a>>,
}
type T<'a> = RcuOption<u32, &'a Domain>;
fn main() {
    let b = Both {
        d: Domain::new(),
        x: Default::default(),
    };
    let d = &b.d;
    let _ = b.x.set(RcuOption::new_in(Some(1), d));
}
