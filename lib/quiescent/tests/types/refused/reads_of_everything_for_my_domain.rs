//! [E0200] `Reads` of all domains for a `domain!` type.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
quiescent::domain! { struct Routes; }
struct Mine;
impl Reads<RcuDomain<Mine, PerThread>> for Routes {}
static MINE: Domain<Mine> = Domain::tagged();
fn main() {
    RcuCell::new_in(1, &MINE).load(&Guard::new_in(Routes));
}
