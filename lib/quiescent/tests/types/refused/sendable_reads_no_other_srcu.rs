//! [E0271, E0277] A guard that may be sent, of an Srcu with another tag.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
struct A;
struct B;
static X: Srcu<A> = Srcu::tagged();
static Y: Srcu<B> = Srcu::tagged();
fn main() {
    let c = RcuCell::new_in(1, &X);
    let g = Y.read_lock_send();
    c.load(&g);
}
