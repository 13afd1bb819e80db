//! [E0616] An open section: its fields.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn of<D: Handle>(d: &D) {
    let mut section = d.open_section();
    section.0 = todo!();
}
fn main() {
    of(&Srcu::new());
}
