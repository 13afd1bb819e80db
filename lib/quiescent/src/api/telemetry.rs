//! Telemetry: counters by callback function, on request, which other processes can read.
//!
//! [`start`], or the environment variable `QUIESCENT_TELEMETRY=1`, creates a *page* of shared memory and
//! counts into it from then on: for each domain and callback function what was queued and executed, how long
//! it waited, and how often it ended laziness; and the process's counters. `quiescent top` shows them.
//! Reading wakes no thread, and works for a stopped process as well.
//!
//! ```
//! # if !quiescent::stats::guarantees().telemetry { return Ok(()); }
//! quiescent::telemetry::start()?; // and then, in a shell: quiescent top PID
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
//! has left until its flush time). Waiting times are known by batch: there are a lower and an upper bound,
//! each accurate to a tick of the kernel's clock (at most 10 ms). Neither the queueing nor the execution of
//! entries from before the start is counted. There are rows for 511 functions; the others are counted
//! together, as "(others)".
//!
//! Memory without a destructor is named by its block size, because a type's name would need room in each
//! entry. Bytes are counted as the [budget](crate::tuning::set_budget()) counts them, with what the values
//! own.
//!
//! # The page
//! A `memfd` named `quiescent-telemetry` (never one of the first three descriptors), sealed against shrinking
//! and against writes by others. It has no name in any file system: readers open it through `/proc/PID/fd`,
//! which the kernel allows only to the same user (and to processes that may trace this one). The child of a
//! fork gets a new, empty page. (With [`Options::ignore_forks`](crate::Options::ignore_forks), or after a
//! fork that runs no handlers, such as `_Fork`, a child that continues to use the library counts into its
//! parent's page.) A program with more rights than its user ignores the variable.
//!
//! Words of this machine's byte order; all counts are 8 bytes, other words 4.
//!
//! | at | content |
//! |---|---|
//! | 0 | `quiescnt` |
//! | 8 | version: 2; pid; forks (4 bytes each) |
//! | 20 | offset, number, size (4 bytes each) of: counters, blocking readers, domain names, functions |
//! | 72 | start of counting, ns of `CLOCK_MONOTONIC`; time of the last update of the counters |
//!
//! A *text* is its length (8 bytes) and that many bytes of UTF-8; one with a zero byte among them is being
//! written. A counter is a value and a text. A blocking reader is a thread's number in the low half and its
//! nesting in the high half; a 0 ends them. The name of domain *n* is the *n*th text. A function: key (0:
//! no function; bits 50 and up: domain, from 8192 on an `Srcu`; 48 and 49: lane, 1 memory, 2 code, 3
//! intrusive), flags (bit 0: lazy), bytes of one without owned ones, queued, executed, bytes of those
//! queued, of those executed, hurried, prompt, batches, waited at least, at most (sums, µs), longest (µs),
//! and its name, a text. The last function has no key: it counts all those without a row. No text is longer
//! than 160 bytes, and there are 64 counters, 64 readers, 256 names and 512 functions at most.

use std::io;

use crate::global;

/// Starts counting; does nothing if it is on already. It stays on until the process ends.
///
/// # Errors
/// There is no descriptor or no memory for the page. Then nothing is counted.
pub fn start() -> io::Result<()> {
    crate::watch::telemetry::start(global::env())
}

/// Updates the process's counters on the page, if there is one. The library does so at the end of each grace
/// period, and before a driver or the worker sleeps; what is counted by function is always up to date.
pub fn publish() {
    crate::watch::telemetry::publish(global::env());
}
