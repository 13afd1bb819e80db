//! Read-copy-update that does less, and later.
//!
//! Readers run without locks, fences or shared writes; an updater replaces a value, waits for a *grace
//! period* (until every reader that could still see the old value is done) and frees it.
//!
//! ```
//! use quiescent::{RcuCell, read};
//!
//! static CONFIG: std::sync::LazyLock<RcuCell<String>> =
//!     std::sync::LazyLock::new(|| RcuCell::new("v1".into()));
//!
//! let length = read(|guard| CONFIG.load(guard).len()); // nine instructions and a load
//! let old = CONFIG.store("v2".into());                 // readers see v1 or v2, never a mixture
//! drop(old);                                           // retired: freed after a grace period, later
//! let old: Box<String> = CONFIG.store("v3".into()).wait(); // or wait for it, and have it back
//! # assert_eq!((length, old.as_str()), (2, "v2"));
//! ```
//!
//! # Reclaiming without waiting
//! *Retire* frees memory and nothing else ([`Retired::retire`], [`retire_ptr`]); *call* runs code
//! ([`call()`]). Both are queued with plain stores, never wait and never fail. Plain objects are freed by
//! the thread that retired them, in later calls; code runs on a worker. [`barrier()`] waits until all that
//! was queued is gone, [`drain`] does it in the calling thread.
//!
//! # When
//! Data that is read much more often than it is replaced: configuration, routes, tables, plug-ins.
//!
//! # When not
//! Data written as often as read (use a lock); readers that sleep for long inside a section (every
//! grace period waits for them; [`holdouts`] names them).
//!
//! # Ordering
//! The grace-period guarantee: if a section is open when a grace period starts, it ends before the
//! grace period does; if a section opens after the start, it sees everything that happened before the
//! start. `docs/ordering.md` lists every edge behind this.
//!
//! # Costs
//! `quiescent bench read|sync --compare` measures them beside other libraries on your machine, and
//! `ci/instructions` counts instructions.
//!
//! # Fork and exit
//! The child of a `fork` goes on with everything. Of what was queued before, it frees plain memory; closures
//! and destructors are the parent's, unless [`Options::inherit_callbacks`] is set. Sections of other threads
//! are over there, and what the forking thread got from them must not be used. A future that was pending
//! has to be polled again. `exit` runs nothing that is pending, and waits for nothing: [`drain`] does.
//!
//! # Platform
//! Linux on x86-64 and aarch64 (64-bit atomics, futex, and `membarrier(2)` where the kernel has it).
//! Only x86-64 has been tested on hardware.
//!
//! # Not yet
//! Several domains, budgets for what is queued.

#![deny(missing_docs)]

#[cfg(not(target_os = "linux"))]
compile_error!(
    "quiescent runs on Linux only: it needs futex(2), and membarrier(2) where there is one"
);

mod alarm;
mod barrier;
mod call;
mod callbacks;
mod chain;
#[cfg(any(quiescent_loom, quiescent_double))]
pub mod check;
mod deliver;
mod domain;
mod drive;
mod engine;
mod error;
#[cfg(not(any(quiescent_loom, quiescent_double)))]
mod exit;
#[cfg(not(any(quiescent_loom, quiescent_double)))]
mod fork;
#[cfg(not(any(quiescent_loom, quiescent_double)))]
mod future;
mod guard;
mod heads;
mod kind;
mod lane;
mod list;
mod looks;
mod options;
mod pointer;
mod queue;
mod rcu_ptr;
mod reader;
mod report;
mod retire;
mod retired;
mod run;
mod slots;
mod staff;
mod stats;
mod sweep;
mod sync;
mod wait;
mod waitlist;
mod watch;
mod worker;

pub use call::{
    Drained, barrier, call, call_head, call_head_hurry, call_hurry, drain, try_barrier,
};
pub use error::{InitError, SyncError};
#[cfg(not(any(quiescent_loom, quiescent_double)))]
pub use future::{GracePeriod, grace_period};
pub use guard::{Guard, in_section, read, read_lock};
pub use heads::Head;
pub use list::{ListIter, RcuList};
pub use options::{Options, init};
pub use pointer::{Exchanged, ExchangedOption, RcuCell, RcuOption};
pub use rcu_ptr::{ExchangedPtr, RcuPtr, Shared};
pub use report::{Report, on_report};
pub use retire::{FLUSH, PROMPT, retire, retire_hurry, retire_ptr, retire_ptr_hurry};
pub use retired::Retired;
pub use stats::{FenceMode, Holdout, Statistics};
pub use wait::{
    Cookie, poll, start_poll, synchronize, synchronize_expedited, synchronize_timeout,
    try_synchronize, wait,
};

/// Counters since the start of the process, and the present state. Takes the domain's lock briefly.
///
/// ```
/// let before = quiescent::statistics();
/// quiescent::synchronize();
/// assert!(quiescent::statistics().grace_periods > before.grace_periods);
/// ```
pub fn statistics() -> Statistics {
    sync::domain().statistics()
}

/// The readers that the grace period in flight waits for, at most 64 of them; empty if none is in
/// flight or nobody has looked yet. Reads their names from `/proc`.
pub fn holdouts() -> Vec<Holdout> {
    sync::domain().holdouts()
}
