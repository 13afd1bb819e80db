//! What can go wrong, with the place and the remedy.

use std::fmt;

use crate::statistics::Holdout;

/// Why waiting for a grace period failed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SyncError {
    /// The caller is inside a read-side critical section of its own: it would wait for itself.
    InsideSection,
    /// The caller is a callback: the grace period might be this thread's to drive, and a barrier would
    /// wait for the callback itself.
    InsideCallback,
    /// The worker, which runs callbacks, could not be started: no thread or no descriptor was to be had.
    NoWorker,
    /// The deadline passed. These readers were still inside a section that is older than the grace
    /// period.
    TimedOut {
        /// Who was in the way, at most 64 of them.
        holdouts: Vec<Holdout>,
    },
    /// The kernel, or a sandbox entered after start-up, refused `membarrier(2)`, which readers rely
    /// on. Nothing may be freed.
    FenceRefused {
        /// The `errno` it was refused with.
        errno: i32,
    },
    /// No memory for the records of so many threads.
    OutOfMemory {
        /// How many threads the engine was to serve.
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
                let mut separator = ": still reading: ";
                for holdout in holdouts {
                    write!(f, "{separator}{holdout}")?;
                    separator = ", ";
                }
                Ok(())
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

impl std::error::Error for SyncError {}

/// Why [`Options::apply`](crate::Options::apply) could not do what it was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InitError {
    /// A thread has read already; the fence mode cannot change any more.
    AlreadyReading,
    /// `membarrier(2)` was demanded, and is not to be had.
    NoMembarrier {
        /// The `errno` with which the kernel, or a sandbox, refused to register for it.
        errno: i32,
    },
    /// Not a number of threads that can be served.
    BadMaxThreads {
        /// What was asked for.
        asked: u32,
        /// The most that can be had.
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

impl std::error::Error for InitError {}
