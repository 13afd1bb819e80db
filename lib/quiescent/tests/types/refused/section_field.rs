//! [E0616] An open section, taken out by a projection: its fields.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn of<D: Handle>(d: &D) -> D::OpenSection {
    d.open_section()
}
fn main() {
    let mut section = of(&Srcu::new());
    section.entered = todo!();
}
