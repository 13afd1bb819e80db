//! `quiescent-torture-run`: the process of one run of `quiescent torture`, which starts it and reads what it
//! says.
//!
//! A program of its own, since its allocator looks at what is freed ([`quiescent_torture::allocator`]). The
//! command measures, and must have the system's allocator and nothing in between.

use quiescent_torture::allocator::Watching;
use quiescent_torture::child::serve;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: Watching = Watching;

fn main() -> ExitCode {
    ExitCode::from(serve(&std::env::args().nth(1).unwrap_or_default()))
}
