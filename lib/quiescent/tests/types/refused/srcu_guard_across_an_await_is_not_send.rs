//! [future cannot be sent between threads safely] A future with an Srcu guard of `read_lock` is not Send.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
static S: Srcu = Srcu::new();
fn is<T: Send>(_: T) {}
fn main() {
    is(async {
        let g = S.read_lock();
        std::future::ready(()).await;
        drop(g);
    });
}
