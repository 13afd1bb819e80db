//! What is measured: a module for each command of `bench`.
//!
//! A module has a [`Bench`], which is a table of options and questions, and what answers the questions; words
//! and tables of text are in `reports.toml`. Most ask each question ([`Ask`]) of a fresh process: this
//! program again, started with other words, answers it ([`serve`]).
//!
//! `read`, `retire`, `mixed`, `map` and `arc` measure on every system; those in `linux` ask `/proc`, signals
//! or the kernel.

pub mod arc;
#[cfg(test)]
pub(crate) mod fixture;
#[cfg(target_os = "linux")]
mod linux;
pub mod map;
pub mod mixed;
pub mod plan;
pub mod read;
pub mod retire;
pub mod setting;

#[cfg(target_os = "linux")]
pub use linux::*;

use crate::measure::once::{self, Ask, Said};
use plan::{Bench, Body};

/// Every measurement of this system, in the order of the command line.
pub fn all() -> Vec<&'static Bench> {
    let mut all = vec![
        &read::READ,
        &retire::RETIRE,
        &mixed::MIXED,
        &map::MAP,
        &arc::ARC,
    ];
    #[cfg(target_os = "linux")]
    all.extend(linux::ALL);
    all
}

/// Answers what the last argument of a measuring process asks; the exit code.
pub fn serve(ask: &str) -> u8 {
    once::serve(ask, answer)
}

fn answer(ask: &Ask) -> Said {
    let bench = all().into_iter().find(|it| it.name == ask.bench);
    match bench.map(|it| it.body) {
        Some(Body::Asked(_, _, measure)) => measure(ask),
        _ => Err(format!("`bench {}` asks no process", ask.bench)),
    }
}
