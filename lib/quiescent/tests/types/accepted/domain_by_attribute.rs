//! `domain!` with an attribute macro that changes nothing, and with conditional attributes.
#![forbid(unsafe_code)]
use quiescent::*;
quiescent::domain! { #[attributes::same] struct Routes; }
quiescent::domain! { #[cfg_attr(all(), derive(PartialEq))] #[allow(dead_code)] struct Names; }
fn main() {
    let (routes, names) = (RcuCell::new_in(1, Routes), RcuCell::new_in(2, Names));
    assert_eq!(
        routes.load(&Guard::new_in(Routes)) + names.load(&Names.read_lock()),
        3
    );
}
