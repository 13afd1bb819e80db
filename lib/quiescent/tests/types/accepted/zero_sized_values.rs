//! Values without size, with and without destructor, over-aligned.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
static N: AtomicUsize = AtomicUsize::new(0);
#[repr(align(64))]
struct A;
impl Drop for A {
    fn drop(&mut self) {
        assert_eq!(std::ptr::from_ref(self).addr() % 64, 0);
        N.fetch_add(1, SeqCst);
    }
}
struct B;
impl Drop for B {
    fn drop(&mut self) {
        N.fetch_add(1, SeqCst);
    }
}
#[repr(align(4096))]
struct C(u8);
fn main() {
    let (a, b, c, d) = (
        RcuCell::new(A),
        RcuCell::new(B),
        RcuCell::new(()),
        RcuCell::new(C(1)),
    );
    for n in 0..1000 {
        a.store(A);
        b.store(B).on_worker().retire();
        c.store(());
        d.store(C(n as u8)).retire_hurry();
        d.read_ok();
    }
    let z = A;
    defer(move || {
        let _z = &z;
    });
    let z = A;
    defer_lazy(move || drop(z));
    let z = [A, A];
    defer_hurry(move || drop(z));
    read(|g| {
        let seen = a.load(g);
        assert!(a.compare_exchange(seen, A, g).is_ok());
    });
    drain(std::time::Duration::from_secs(60));
    assert_eq!(N.load(SeqCst), 1000 + 1000 + 4 + 1);
}
trait Ok {
    fn read_ok(&self);
}
impl Ok for RcuCell<C> {
    fn read_ok(&self) {
        read(|g| assert_eq!(std::ptr::from_ref(self.load(g)).addr() % 4096, 0))
    }
}
