//! Counters of the library, and the readers that block a grace period.

use crate::global::{self, home};
use quiescent_core::domain::laziness::Breaker;
pub use quiescent_core::domain::statistics::{
    DomainStatistics, Flushes, Statistics, WorkerWakeups,
};
pub use quiescent_core::reader::holdout::Holdout;
pub use quiescent_core::reader::mode::FenceMode;

/// Returns counters since the start of the process, and the present state. Takes the domain's lock briefly.
///
/// ```
/// let before = quiescent::statistics();
/// quiescent::synchronize();
/// assert!(quiescent::statistics().grace_periods > before.grace_periods);
/// ```
pub fn statistics() -> Statistics {
    Statistics::of(&global::env().home)
}

/// The readers that the grace period in flight waits for, at most 64 of them; empty if none is in flight, or
/// if no scan has run yet. Reads their names from `/proc`.
pub fn holdouts() -> Vec<Holdout> {
    home().holdouts()
}

/// The callbacks that end laziness most often, since the start of the process, most frequent first. There is
/// room for 127 types; the others are counted together, as "(others)".
///
/// ```
/// struct Session;
/// quiescent::defer_hurry(|| drop(Session));
/// let worst = quiescent::stats::breakers()[0];
/// assert_eq!((worst.hurried, worst.prompt), (1, 0));
/// println!("{} woke the worker {} times", worst.name, worst.hurried + worst.prompt);
/// ```
pub fn breakers() -> Vec<Breaker> {
    global::env().breakers.all()
}
