//! [E0133] Forgetting sections in safe code.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
static S: Srcu = Srcu::new();
fn main() { S.forget_sent_sections(); }
