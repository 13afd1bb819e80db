//! The handles of a `domain!` type read each other's cells.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
quiescent::domain! { struct Routes; }
fn main() {
    let h: RcuDomain<Routes, Single> = (*Routes).clone();
    let a = RcuCell::new_in(1, Routes);
    let b = RcuCell::new_in(1, h.clone());
    let c = RcuCell::new_in(1, &*Routes);
    let g = Guard::new_in(Routes);
    let i = h.read_owned();
    let k = h.read_lock();
    for g in [
        a.load(&g),
        b.load(&g),
        c.load(&g),
        a.load(&i),
        b.load(&k),
        c.load(&i),
    ] {
        assert_eq!(*g, 1)
    }
}
