//! Events that a host reports to its program.

use std::fmt;
use std::panic::Location;
use std::time::Duration;

use crate::domain::error::Fullness;
use crate::reader::holdout::Holdout;

mod json;

/// Default time until a stall is reported, in nanoseconds.
pub const DEFAULT_NS: u64 = if cfg!(debug_assertions) {
    1_000_000_000
} else {
    quiescent_engine::stall::DEFAULT_NS
};

/// Default time until a grace period that readers block is reported, unless `Options::stall_after` or
/// `set_stall_after` changes it: 21 s, and 1 s in a build with debug assertions.
pub const STALL_AFTER: Duration = Duration::from_nanos(DEFAULT_NS);

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
    /// Only in builds with `debug_assertions`. `Retired::on_worker` and `set_destructors` move it
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
    /// A thread is in a destructor inside a call of `retire` or `store`, or at the end of a section, and has
    /// not returned for this long: it may wait for a lock that it holds itself. Noticed when the worker takes
    /// the thread's queue over, at the flush time at the latest (unless a drain has done that), and reported
    /// a second after that. The remedy is to have the worker run such destructors: `Retired::on_worker`, or a
    /// setting of the domain.
    StuckInPlace {
        /// The type of the value that is being dropped, or of the first of some that are.
        name: &'static str,
        /// The kernel's id of the thread.
        thread: u32,
        /// How long it has been seen there.
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
            Report::StuckInPlace {
                name,
                thread,
                running,
            } => write!(
                f,
                "thread {thread} has been in the destructor of {name} for {} in a call of retire or store, \
                 or at the end of a section: look for a lock that it holds itself, or have the worker run \
                 such destructors: on_worker()",
                Seconds(*running)
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

/// A grace period that has waited for too long, and the readers that block it.
///
/// [`Display`](fmt::Display) formats it as text, one line per reader; [`to_json`](StallReport::to_json) as
/// JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StallReport {
    /// The domain's name, if it has one (`Domain::set_name`).
    pub domain: Option<&'static str>,
    /// The number of the grace period: one more than the number that had ended before it
    /// (`Statistics::grace_periods`, or that of the domain in question).
    pub grace_period: u64,
    /// Number of reports about this grace period so far, including this one.
    pub report: u32,
    /// The grace period has waited for at least this long.
    pub age: Duration,
    /// The readers that block it, at most 64 of them. Empty if all have left while the report was made.
    pub readers: Vec<StalledReader>,
    /// Number of further readers that block it.
    pub more: usize,
    /// Callbacks and objects that wait for this grace period or a later one.
    pub queued: u64,
    /// Their bytes, as in `Statistics::queued_bytes`.
    pub queued_bytes: u64,
}

/// A reader that blocks a grace period.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StalledReader {
    /// The thread, and the number of its open sections.
    pub holdout: Holdout,
    /// The thread's state as reported by the kernel: `R` runs, `S` sleeps, `D` waits for a device, `T` or `t`
    /// is stopped (for example by a debugger). None if it cannot be read, for example because the thread has
    /// ended.
    pub state: Option<char>,
    /// The kernel function in which it waits, if it waits and the kernel reports it.
    pub wait_channel: Option<String>,
    /// Lower bound for the time it has been in its section: the time since it was first seen there. (Measured
    /// with a clock that advances every few milliseconds.)
    pub held_for: Duration,
    /// The place where its section was opened. Always `None` without the feature `locations`.
    pub location: Option<&'static Location<'static>>,
}

impl fmt::Display for StallReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(domain) = self.domain {
            write!(f, "domain {domain}: ")?;
        }
        write!(
            f,
            "grace period {} has waited for {} (report {}); {} queued behind it, {} bytes",
            self.grace_period,
            Seconds(self.age),
            self.report,
            self.queued,
            self.queued_bytes
        )?;
        if self.readers.is_empty() {
            f.write_str("; the blocking reader has left meanwhile")?;
        }
        for reader in &self.readers {
            write!(f, "\n  {reader}")?;
        }
        if self.more > 0 {
            write!(f, "\n  and {} others", self.more)?;
        }
        Ok(())
    }
}

impl fmt::Display for StalledReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.holdout)?;
        if let Some(state) = self.state {
            write!(f, ", state {state}")?;
        }
        if let Some(channel) = &self.wait_channel {
            write!(f, " in {channel}")?;
        }
        let held = Seconds(self.held_for);
        let place = if self.holdout.inherited {
            "seen here"
        } else {
            "in its section"
        };
        write!(f, ", {place} for at least {held}")?;
        if let Some(location) = self.location {
            write!(f, ", opened at {location}")?;
        }
        Ok(())
    }
}

/// A time in seconds with three decimals.
struct Seconds(Duration);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = self.0.as_millis();
        write!(f, "{}.{:03} s", ms / 1000, ms % 1000)
    }
}
