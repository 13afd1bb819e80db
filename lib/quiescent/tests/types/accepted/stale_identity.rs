//! An unused domain is no other unused domain.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn main() {
    let (one, other) = (Domain::new(), Domain::new());
    let cell = RcuCell::new_in(1, Domain::new());
    let owned = RcuCell::new_in(1, &one);
    std::panic::set_hook(Box::new(|_| ()));
    let refused =
        |f: &dyn Fn()| assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).is_err());
    refused(&|| {
        cell.load(&other.read_lock());
    });
    refused(&|| {
        owned.load(&other.read_owned());
    });
    refused(&|| {
        cell.load(&Guard::new_in(Domain::new()));
    });
}
