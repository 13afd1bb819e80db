//! Reports: the library calls a function that the program has set, and never prints.
//!
//! With the features `log` and `tracing`, reports also go to these crates as warnings, under the target
//! `quiescent`. No lock is held while a report is made and delivered.

use std::time::Duration;

use super::tuning::in_ns;
use crate::global::env;
pub use crate::watch::report::{Report, on_report};
pub use quiescent_core::domain::report::{STALL_AFTER, StallReport, StalledReader};

/// Sets the time after which a stall is reported, for the process's domain, including the grace period in
/// flight. Zero: no reports.
///
/// The first report of a grace period comes when its readers have blocked it for this time, the next when
/// three times as long (and a few milliseconds) has passed since, and so on. Only a thread that waits or
/// polls, or the worker if it has something to reclaim, detects a stall. The setting is kept in the child of
/// a fork, and not across `exec`.
///
/// ```
/// use std::time::Duration;
///
/// quiescent::report::set_stall_after(Duration::from_secs(5));
/// # quiescent::report::set_stall_after(quiescent::report::STALL_AFTER);
/// ```
pub fn set_stall_after(time: Duration) {
    env().home.set(|it| it.stall_ns = in_ns(time));
}
