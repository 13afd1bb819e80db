//! Errors of the interface. Each message names the cause and the remedy.

use std::error::Error;
use std::fmt;

use quiescent_engine::budget::Held;

use crate::reader::holdout::Holdout;

/// Why waiting for a grace period failed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SyncError {
    /// The caller is inside its own read-side critical section: it would wait for itself.
    InsideSection,
    /// The caller is a callback: this thread may have to drive the grace period, and a barrier would wait for
    /// the callback itself.
    InsideCallback,
    /// The worker, which runs callbacks, could not be started: the process could get no thread or no file
    /// descriptor.
    NoWorker,
    /// The deadline passed. These readers were still inside a section that is older than the grace period.
    TimedOut {
        /// The readers that blocked the grace period, at most 64 of them.
        holdouts: Vec<Holdout>,
    },
    /// The kernel, or a sandbox entered after start-up, refused `membarrier(2)`, which readers rely on.
    /// Nothing may be freed.
    FenceRefused {
        /// The `errno` of the refusal.
        errno: i32,
    },
    /// No memory for the records of this many threads.
    OutOfMemory {
        /// The number of threads that the engine was to serve.
        threads: u32,
    },
}

impl fmt::Display for SyncError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SyncError::InsideSection => f.write_str(
                "waiting for a grace period inside a read-side critical section of the same \
                 thread would wait for itself: drop the guard first",
            ),
            SyncError::InsideCallback => f.write_str(
                "nothing may wait for a grace period or a barrier inside a callback or a destructor \
                 that runs for the reclaimer: hand the work to another thread",
            ),
            SyncError::NoWorker => f.write_str(
                "the worker cannot be started: free a thread or three file descriptors, or use drain()",
            ),
            SyncError::TimedOut { holdouts } => {
                write!(f, "no grace period before the deadline")?;
                still_reading(f, holdouts)
            }
            SyncError::FenceRefused { errno } => write!(
                f,
                "membarrier(2) was refused (errno {errno}) after it had been granted at start-up: \
                 allow it in the sandbox, or start with fence mode `Fenced`"
            ),
            SyncError::OutOfMemory { threads } => {
                write!(
                    f,
                    "no memory for the records of {threads} threads: free some and try again"
                )
            }
        }
    }
}

/// Names those that are in the way.
fn still_reading(f: &mut fmt::Formatter<'_>, holdouts: &[Holdout]) -> fmt::Result {
    let mut separator = ": still reading: ";
    for holdout in holdouts {
        write!(f, "{separator}{holdout}")?;
        separator = ", ";
    }
    Ok(())
}

impl Error for SyncError {}

/// Why `Options::apply` failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InitError {
    /// A thread has already read; the fence mode is fixed.
    AlreadyReading,
    /// `membarrier(2)` was demanded, and is not available.
    NoMembarrier {
        /// The `errno` with which the kernel, or a sandbox, refused the registration.
        errno: i32,
    },
    /// The number of threads is out of range.
    BadMaxThreads {
        /// The requested number.
        asked: u32,
        /// The largest allowed number.
        most: u32,
    },
}

impl fmt::Display for InitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InitError::AlreadyReading => f.write_str(
                "the fence mode cannot change once a thread has read: call `Options::apply` first in `main`",
            ),
            InitError::NoMembarrier { errno } => write!(
                f,
                "membarrier(2) is not available (errno {errno}): leave the fence mode open, or use \
                 `Fenced`"
            ),
            InitError::BadMaxThreads { asked, most } => {
                write!(f, "max_threads is {asked}; it can be 1 to {most}")
            }
        }
    }
}

impl Error for InitError {}

/// Why an object or callback was not queued.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// It does not fit into the budget beside what is queued now.
    Full(Fullness),
    /// The deadline passed, and it still did not fit.
    TimedOut {
        /// The amount queued at the deadline.
        full: Fullness,
        /// The readers that blocked the grace period, at most 64 of them. Empty if the delay was caused by a
        /// callback, or by the thread that runs callbacks, and not by a reader.
        holdouts: Vec<Holdout>,
    },
    /// This thread must not wait, or waiting failed: it is inside a section or a callback, or the fence was
    /// refused.
    CannotWait(SyncError),
}

/// The amount queued, and the budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Fullness {
    /// Bytes that are queued.
    pub held_bytes: u64,
    /// Objects and callbacks that are queued.
    pub held_callbacks: u64,
    /// The budget in bytes.
    pub budget_bytes: u64,
    /// The budget in objects and callbacks.
    pub budget_callbacks: u64,
}

impl Fullness {
    pub(super) fn new(held: Held, budget: Held) -> Fullness {
        Fullness {
            held_bytes: held.bytes,
            held_callbacks: held.count,
            budget_bytes: budget.bytes,
            budget_callbacks: budget.count,
        }
    }
}

impl fmt::Display for Fullness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fullness {
            held_bytes,
            held_callbacks,
            budget_bytes,
            budget_callbacks,
        } = self;
        write!(
            f,
            "{held_bytes} bytes in {held_callbacks} callbacks are queued, and the budget is \
             {budget_bytes} bytes in {budget_callbacks}"
        )
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Full(full) => write!(
                f,
                "no room: {full}: try again later, wait for a grace period, or set a larger budget"
            ),
            Refusal::TimedOut { full, holdouts } => {
                write!(f, "no room before the deadline: {full}")?;
                still_reading(f, holdouts)
            }
            Refusal::CannotWait(error) => error.fmt(f),
        }
    }
}

impl Error for Refusal {}
