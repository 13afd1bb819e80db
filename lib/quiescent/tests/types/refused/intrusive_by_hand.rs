//! [E0133] Intrusive callbacks are unsafe.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn run(_: std::ptr::NonNull<intrusive::Head>) {}
fn main() {
    intrusive::defer(std::ptr::NonNull::dangling(), run);
}
