//! Events that a host reports to its program.

use std::fmt;
use std::time::Duration;

use crate::domain::error::Fullness;
use crate::domain::stall::StallReport;

/// An event for the program: a callback or a destructor that misbehaves, stalled readers, or
/// an exceeded budget.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Report {
    /// A callback panicked. The panic was contained; the program's panic hook has its message.
    Panicked {
        /// The type of the closure, or of the value that was dropped.
        name: &'static str,
    },
    /// A destructor took more than 10 ms inside a `retire` or `store` of the thread that retired the value.
    /// Only in builds with `debug_assertions`. `Retired::on_worker` and `set_destructors_on_worker` move it
    /// to the worker.
    Slow {
        /// The type of the value.
        name: &'static str,
        /// How long it took.
        took: Duration,
    },
    /// A callback has not returned for this long. Another worker runs the others; a barrier waits for this
    /// one.
    Stuck {
        /// The type of the closure, or of the value that is being dropped.
        name: &'static str,
        /// How long it has been running.
        running: Duration,
    },
    /// Readers have blocked a grace period for too long (`set_stall_after`).
    Stalled(StallReport),
    /// More is queued than the budget (`set_budget`) allows: `retire` does not wait. Reported on the worker
    /// (not at all if it cannot be started), once when the budget is exceeded, and at most once a second.
    /// `holdouts()` names the readers.
    OverBudget {
        /// How much was queued when the budget was exceeded, and that budget.
        full: Fullness,
        /// Readers that block the grace period that it waits for, when the report is made.
        holdouts: u32,
        /// The domain's name, if it has one (`Domain::set_name`).
        domain: Option<&'static str>,
    },
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Report::Panicked { name } => write!(f, "callback {name} panicked"),
            Report::Slow { name, took } => write!(
                f,
                "the destructor of {name} took {} ms inside a call of retire or store: look for a lock that \
                 it waits for, or retire such values with on_worker()",
                took.as_millis()
            ),
            Report::Stuck { name, running } => write!(
                f,
                "callback {name} has not returned for {}.{} s: another worker goes on without it; look \
                 for what it waits for",
                running.as_secs(),
                running.subsec_millis() / 100
            ),
            Report::Stalled(stall) => write!(f, "{stall}"),
            Report::OverBudget {
                full,
                holdouts,
                domain,
            } => {
                if let Some(domain) = domain {
                    write!(f, "domain {domain}: ")?;
                }
                write!(
                    f,
                    "over the budget: {full}; {holdouts} readers are in the way: look at its holdouts(), \
                     retire with try_retire or retire_wait, or set a larger budget"
                )
            }
        }
    }
}
