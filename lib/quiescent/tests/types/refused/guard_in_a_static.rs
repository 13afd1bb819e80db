//! [E0277] A guard cannot be in a static.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
static G: std::sync::OnceLock<Guard> = std::sync::OnceLock::new();
fn main() {}
