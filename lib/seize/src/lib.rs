//! The public names of seize 0.5, on domains of [`quiescent`]. A program changes one line of its
//! `Cargo.toml`:
//!
//! ```toml
//! seize = { package = "quiescent-seize", version = "0.1" }
//! ```
//!
//! ```
//! use quiescent_seize::{Collector, Guard, reclaim};
//! use std::sync::atomic::{AtomicPtr, Ordering::AcqRel, Ordering::Acquire};
//!
//! let collector = Collector::new();
//! let current = AtomicPtr::new(Box::into_raw(Box::new(1)));
//! let guard = collector.enter();
//! let old = guard.swap(&current, Box::into_raw(Box::new(2)), AcqRel);
//! // SAFETY: a box that was unlinked above.
//! unsafe { guard.defer_retire(old, reclaim::boxed) };
//! // SAFETY: alive as long as the guard.
//! assert_eq!(unsafe { *guard.protect(&current, Acquire) }, 2);
//! # drop(guard);
//! # unsafe { reclaim::boxed(current.into_inner(), &collector) };
//! ```
//!
//! # What differs
//! * **Same**: [`Collector::enter`], [`Collector::enter_owned`], the [`Guard`]s and what they may do,
//!   [`reclaim`]. A collector that is dropped, and [`Collector::reclaim_all`], free everything at once.
//! * **Where** what is [retired](Collector::retire) is freed, as there: only in calls of its collector, by
//!   the thread that makes them: at the end of its last guard, in [`Guard::refresh`], [`Guard::flush`],
//!   [`Collector::retire`] without a guard, [`Collector::reclaim_all`], and when the collector is dropped.
//!   So values need be neither `Send` nor `'static`, and a collector that is forgotten, or not called any
//!   more, frees nothing; the library's worker only drives grace periods.
//! * **When**: after a grace period, also if it is retired without a guard. A thread looks at what is
//!   ready in one of 127 of these calls, and in each flush: later than in seize if little is retired. A panic
//!   in `reclaim` is contained and [reported](quiescent::report::on_report).
//! * [`Collector::batch_size`] does nothing: a batch follows the cost of a grace period. [`Guard::flush`]
//!   hurries what was retired before, and runs what is ready.
//! * [`quiescent::shutdown`] names as left what collectors hold: drop them before.
//! * [`Guard::thread_id`] is dense only where the thread has a [`quiescent::thread_index`].
//! * [`Guard::refresh`] of a local guard does nothing unless a grace period waits for this thread.
//! * The first owned guard makes the collector wait for owned guards, too, and retiring slower from then on.
//! * The child of a fork can use everything. What was retired before the fork is reclaimed in the parent.
//! * **Absent**: the module `guide`.

mod collector;
mod guard;
pub mod reclaim;

pub use collector::Collector;
pub use guard::{Guard, LocalGuard, OwnedGuard};

/// The example of the package's README, compiled as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub mod readme {}
