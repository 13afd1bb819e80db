//! `quiescent-torture-run`: the process of one run of `quiescent torture`, which starts it and reads its
//! output.
//!
//! It is a program of its own, since its allocator checks freed blocks ([`quiescent_torture::allocator`]);
//! the `quiescent` command measures, and must use the system's allocator directly.

use quiescent_torture::allocator::Watching;
use quiescent_torture::child::serve;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: Watching = Watching;

fn main() -> ExitCode {
    ExitCode::from(serve(&std::env::args().nth(1).unwrap_or_default()))
}
