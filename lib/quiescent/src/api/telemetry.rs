//! Telemetry: counters by callback function, on request, which other processes can read.
//!
//! [`start`], or the environment variable `QUIESCENT_TELEMETRY=1`, creates a *page* of shared memory and
//! counts into it from then on: for each domain and callback function what was queued and executed, how long
//! it waited, and how often it ended laziness; and the process's counters. [`snapshot`] reads the page in
//! this process, [`Source::of`] from another one, as `quiescent top` does. Reading wakes no thread, and works
//! for a stopped process as well.
//!
//! ```
//! use quiescent::telemetry;
//! # if !quiescent::stats::guarantees().telemetry { return Ok(()); }
//!
//! telemetry::start()?;
//! quiescent::defer(|| println!("all readers of before are gone"));
//! quiescent::barrier();
//! let snapshot = telemetry::snapshot().expect("started");
//! let function = snapshot.functions.iter().find(|it| it.executed == 1).expect("counted");
//! assert!(function.name.contains("closure") && function.domain == "process");
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! # Cost
//! The read side pays nothing, on or off. Off, `retire` and `defer` pay nothing, except one load where they
//! take the queue's lock (once a batch). On, the call itself counts nothing either: the owner counts a whole
//! batch when it takes the lock and the entries are still there. `QUIESCENT_TELEMETRY=1 ci/instructions`
//! prints the result: three to four instructions for each `retire` with the freeing of an older object. The
//! page has a fixed size of 150 KiB.
//!
//! # Accuracy
//! Every entry is counted once when it is queued and once when it is executed; there is no sampling. Not yet
//! counted is what a thread has queued since it last took the lock (at most one batch, or what a quiet thread
//! has left until its flush time). Waiting times are known by batch: [`Function::waited_at_least`] and
//! [`Function::waited_at_most`] are the bounds, each accurate to a tick of the kernel's clock (at most 10
//! ms). Neither the queueing nor the execution of entries from before the start is counted. There are rows
//! for 511 functions; the others are counted together, as "(others)".
//!
//! Memory without a destructor is named by its block size, because a type's name would need room in each
//! entry. Bytes are counted as the [budget](crate::tuning::set_budget()) counts them, with what the values
//! own.
//!
//! # The page
//! A `memfd` named `quiescent-telemetry` (never one of the first three descriptors), sealed against shrinking
//! and against writes by others. It has no name in any file system: readers open it through `/proc/PID/fd`,
//! which the kernel allows only to the same user (and to processes that may trace this one). It contains its
//! version and the offsets of its parts; [`Source`] documents the layout. The child of a fork gets a new,
//! empty page. (With [`Options::ignore_forks`](crate::Options::ignore_forks), or after a fork that runs no
//! handlers, such as `_Fork`, a child that continues to use the library counts into its parent's page.) A
//! program with more rights than its user ignores the variable.

use std::io;

use crate::global;
pub use crate::watch::telemetry::{Function, Snapshot, Source, What};

/// Starts counting; does nothing if it is on already. It stays on until the process ends.
///
/// # Errors
/// There is no descriptor or no memory for the page. Then nothing is counted.
pub fn start() -> io::Result<()> {
    crate::watch::telemetry::start_in(global::env())
}

/// Returns what this process has counted until now, after updating the counters; `None` if telemetry is off.
pub fn snapshot() -> Option<Snapshot> {
    crate::watch::telemetry::snapshot_in(global::env())
}
