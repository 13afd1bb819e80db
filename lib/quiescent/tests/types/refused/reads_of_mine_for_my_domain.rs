//! [E0200] `Reads` of one `domain!` type for another.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
quiescent::domain! { struct Routes; }
quiescent::domain! { struct Names; }
impl Reads<RcuDomain<Names, Single>> for Routes {}
fn main() {
    RcuCell::new_in(1, Names).load(&Guard::new_in(Routes));
}
