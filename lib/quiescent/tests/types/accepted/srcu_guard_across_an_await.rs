//! A future with an Srcu guard that may be sent is Send.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
static S: Srcu = Srcu::new();
fn is<T: Send>(_: T) {}
fn main() {
    is(async {
        let c = RcuCell::new_in(1, &S);
        let g = S.read_lock_send();
        let x = c.load(&g);
        std::future::ready(()).await;
        assert_eq!(*x, 1);
    });
}
