//! [E0277] A held value that others change stays on the thread of its guard, also if the guard may be sent.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn is_send<T: Send>() {}
fn main() {
    is_send::<Held<'static, std::cell::Cell<u32>, Sendable<Srcu>>>();
}
