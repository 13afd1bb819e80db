//! The public names of crossbeam-epoch 0.9, on domains of [`quiescent`]. A program changes one line of its
//! `Cargo.toml`:
//!
//! ```toml
//! crossbeam-epoch = { package = "quiescent-epoch", version = "0.1" }
//! ```
//!
//! ```
//! use quiescent_epoch::{self as epoch, Atomic, Owned};
//! use std::sync::atomic::Ordering::{AcqRel, Acquire};
//!
//! let current = Atomic::new(String::from("old"));
//! let guard = epoch::pin();
//! let old = current.swap(Owned::new(String::from("new")), AcqRel, &guard);
//! // SAFETY: it was unlinked above.
//! unsafe { guard.defer_destroy(old) };
//! // SAFETY: not null, and alive as long as the guard.
//! assert_eq!(unsafe { current.load(Acquire, &guard).deref() }, "new");
//! # drop(guard);
//! # unsafe { drop(current.into_owned()) };
//! ```
//!
//! # What differs
//! * **Same**: [`Atomic`], [`Owned`], [`Shared`] and their tags, [`Pointable`], [`Pointer`], [`unprotected`];
//!   [`pin`] is a section of the process's domain, and a full fence.
//! * **When** what is [deferred](Guard::defer) runs: never before the grace period, as there; within
//!   [`FLUSH`](quiescent::tuning::FLUSH), also if no thread ever pins again.
//! * **Where** it runs: in a later call of the thread that deferred it, or on the library's worker. A panic
//!   in it is contained and [reported](quiescent::report::on_report); there it unwinds through `pin`.
//! * [`Guard::flush`] hurries what was deferred before, and runs what is ready.
//! * [`Guard::repin`] does nothing unless a grace period waits for this thread.
//! * A [`Collector`] of one's own is a [`Domain`](quiescent::Domain). The last handle or guard that is
//!   dropped runs what is deferred, at once and in its thread, and waits for what the worker is running of
//!   it: which must not wait for that thread.
//! * The [`LocalHandle`]s of one thread and one collector share their state:
//!   [`is_pinned`](LocalHandle::is_pinned) is true if any of them is pinned.
//! * [`Atomic::load_consume`] acquires: an instruction more on weakly ordered machines.
//! * The child of a fork can use everything. What was deferred before the fork runs in the parent only.
//! * **Absent**: `no_std`, the feature `loom`, and what 0.9 has deprecated (`compare_and_set` and its types).
//!
//! # Features
//! | feature | what it does |
//! |---|---|
//! | `std`, `alloc`, `nightly` | nothing: programs name them |
//! | `drain` | the end of the outermost guard runs what is ready, at most 512 functions: hold no lock |

mod array;
mod atomic;
mod collector;
mod guard;
mod owned;
mod pointer;
mod shared;

pub use atomic::{Atomic, CompareExchangeError};
pub use collector::{Collector, LocalHandle, default_collector, is_pinned, pin};
pub use guard::{Guard, unprotected};
pub use owned::Owned;
pub use pointer::{Pointable, Pointer};
pub use shared::Shared;

/// The example of the package's README, compiled as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub mod readme {}
