//! [future cannot be sent between threads safely] A guard across an await.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn is<T: Send>(_: T) {}
fn main() {
    is(async {
        let g = read_lock();
        std::future::ready(()).await;
        drop(g);
    });
}
