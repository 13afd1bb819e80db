//! [E0308] A Shared of one domain exchanged in a pointer of another.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
quiescent::domain! { struct Routes; }
quiescent::domain! { struct Other; }
fn main() {
    let (a, b): (RcuPtr<u32, Routes>, RcuPtr<u32, Other>) = (RcuPtr::null_in(), RcuPtr::null_in());
    let (g, h) = (Guard::new_in(Routes), Guard::new_in(Other));
    let s = a.load_shared(&g);
    let _ = b.compare_exchange(s, None, &h);
}
