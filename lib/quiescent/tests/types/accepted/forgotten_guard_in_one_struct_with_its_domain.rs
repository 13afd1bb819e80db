//! A guard in ManuallyDrop beside its domain: forgotten, which is safe.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
struct Both<'a> {
    d: Domain,
    x: std::cell::OnceCell<std::mem::ManuallyDrop<Guard<&'a Domain>>>,
}
fn main() {
    let b = Both {
        d: Domain::new(),
        x: Default::default(),
    };
    let _ = b.x.set(std::mem::ManuallyDrop::new(b.d.read_lock()));
}
