//! [E0277] A held value stays on the thread of its guard.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn is_send<T: Send>() {}
fn main() {
    is_send::<Held<'static, u32>>();
}
