//! [E0603] The token that leads to a domain has no name outside.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn f<D: Handle>(d: &D, token: quiescent::api::handle::sealed::Inside) {
    d.core_domain(token);
}
fn main() {}
