//! [E0277] `Retired<Rc>`.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn f(_: Retired<std::rc::Rc<u32>>) {}
fn main() {}
