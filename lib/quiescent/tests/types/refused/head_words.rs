//! [E0616] A head's words are private.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn main() {
    let h = intrusive::Head::new();
    let _ = h.next;
}
