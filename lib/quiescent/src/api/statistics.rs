//! Counters of the library, and the readers that block a grace period.

use crate::global::{self, home};
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
