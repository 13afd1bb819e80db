//! Read-copy-update that does less, and later.
//!
//! For data that many threads read and few change: a configuration, a routing table, a list of plug-ins.
//! Readers take no lock, execute no fence, and write to no memory that another thread writes. Who changes
//! the data makes a new version beside the old one, and the old one is freed when nobody can be reading it
//! any more.
//!
//! ```
//! use quiescent::{RcuCell, read};
//!
//! static CONFIG: std::sync::LazyLock<RcuCell<String>> =
//!     std::sync::LazyLock::new(|| RcuCell::new("v1".into()));
//!
//! let length = read(|guard| CONFIG.load(guard).len()); // no lock, no fence
//! let old = CONFIG.store("v2".into());                 // readers see v1 or v2, never a mixture
//! drop(old);                                           // retired: freed after a grace period, later
//! let old: Box<String> = CONFIG.store("v3".into()).wait(); // or wait for it, and have it back
//! # assert_eq!((length, old.as_str()), (2, "v2"));
//! ```
//!
//! # Read-copy-update from zero
//! Readers find the data through a pointer. To change what they find, an updater
//!
//! 1. makes a new version, which no reader can find yet (*copy*);
//! 2. makes the pointer lead to it, with one atomic store (*update*): a reader that loads the pointer gets the
//!    old version or the new one, and either is whole;
//! 3. frees the old version, but not yet: readers that loaded the pointer before may still be using it.
//!
//! Readers that come later cannot find the old version. So it is enough to wait for those that are reading
//! *now*. For that, a reader says when it begins and when it ends: between [`read_lock`] and the end of the
//! [`Guard`] it is in a *section*. The time until all sections have ended that were open at some moment is a
//! *grace period*.
//!
//! ```text
//! reader A  ──[ old ]──────────────────────────
//! reader B  ──────[ old   old   old ]──────────     B is waited for,
//! reader C  ────────────[ new   new   new   new ]─  C is not: it cannot find the old version
//!                     ▲             ▲
//! updater         publishes     frees the old version
//!                     └─────────────┘
//!                      grace period
//! ```
//!
//! Readers pay nothing for this. Updaters pay, and they share: one grace period serves everything that was
//! replaced before it. Usually nobody waits at all: what was replaced is *retired*, and freed later.
//!
//! # When, and when not
//! Take it where reads are many and updates few, where readers must not be delayed, or where they run in
//! places in which locks are not allowed, such as signal handlers.
//!
//! Do not take it
//! * for data that is written about as often as it is read: use a lock;
//! * if readers have to keep what they found for long (over a network call, say): use an `Arc`, perhaps
//!   inside a cell, or an [`Srcu`]. A section holds up the reclaiming of the whole process while it is open (one of
//!   a [`Domain`], of that domain);
//! * if readers must see the latest version at any price: a reader may go on with the old one for as long as
//!   its section lasts;
//! * if a value is too large to be copied and its parts change one by one: take a lock, or link the parts.
//!
//! # Quick start
//! | you have | take |
//! |---|---|
//! | one value, replaced whole | [`RcuCell`]; [`RcuOption`] if it may be absent |
//! | a list | [`RcuList`] |
//! | a structure of your own with links | [`RcuPtr`], with `unsafe` where objects leave |
//! | memory of another kind (indexes, buffers, devices) | [`read`] and [`synchronize`], or [`start_poll`] and [`poll`] |
//! | readers that sleep, live across an `await`, or end on another thread | [`Srcu`], [`SrcuCell`] |
//! | readers that are slow, or memory that must not wait for other people's | a [`Domain`] of its own, [`DomainCell`] |
//!
//! Read with [`read`] or [`read_lock`]. Replace with `store` or `update`, and drop what comes back. There is
//! nothing to set up and nobody to register; [`init`] is for those who want something special. Then read the
//! chapter of the [`guide`] that is about your case.
//!
//! # Two verbs: retire and call
//! *Retire* frees memory ([`Retired::retire`], or drop the [`Retired`]; [`Shared::retire`], [`retire_ptr`]). It
//! is lazy, since nobody waits for memory. *Call* runs code ([`call()`]), and is prompt. Both are queued with
//! plain stores, and never wait.
//!
//! | strength | memory | code | asked for on its account |
//! |---|---|---|---|
//! | lazy | [`retire`] | [`call_lazy`] | when a batch is full, or after [`FLUSH`] |
//! | prompt | | [`call()`] | after [`PROMPT`] at the latest |
//! | at once | [`retire_hurry`] | [`call_hurry`] | now |
//!
//! Lazy is never right for a callback that somebody waits for. [`breakers`] tells which callbacks keep the worker
//! awake; [`set_flush_times`] changes the times. [`Retired::retire_no_reclaim`], [`set_offload`] and
//! [`set_drained`] are for threads and programs with deadlines: [guide](guide::event_loops).
//!
//! ```
//! use quiescent::{RcuCell, call};
//!
//! let cell = RcuCell::new([0u8; 64]);
//! cell.store([1; 64]);                              // retire: the old value, at some time
//! call(|| println!("all readers of before are gone")); // call: soon
//! quiescent::barrier();                             // wait until both are done
//! ```
//!
//! Plain memory is given back by the thread that retired it, a little in each later call, or by the worker if
//! that thread goes quiet. Closures and values with a destructor run on the worker: one thread, started when
//! it is first needed, asleep when there is nothing to do. Nothing of yours runs inside `retire` or `call`,
//! unless [`Options::inline_callbacks`] asks for it; or [`set_drained`], then code runs where you drain. Whoever wants the work done here and now calls
//! [`drain`].
//!
//! If readers stall, what is queued grows. There is a budget: near it, grace periods hurry and threads help
//! freeing; at it, [`Retired::try_retire`] gives the object back and [`Retired::retire_wait`] waits, while
//! `retire` goes on and says so ([`guide::back_pressure`]).
//!
//! # Safety
//! Everything but [`RcuPtr`]'s linking and retiring, [`retire_ptr`] and [`call_head`] is safe:
//!
//! * what `load` gives borrows the guard and the cell: it cannot outlive the section, nor the cell;
//! * a [`Guard`] stays on its thread: it is neither `Send` nor `Sync`;
//! * values are `Send + Sync + 'static`: they are shared between threads and freed on any of them, later;
//! * waiting inside a section of one's own would be for ever. It is refused ([`try_synchronize`]) or panics,
//!   in every build; in callbacks, too.
//!
//! One thing no type prevents, a circle: a reader that waits, inside its section, for a thread that waits
//! for a grace period. So hold no lock while you wait that is taken inside sections. What else to know is in
//! [`limitations`].
//!
//! # What is guaranteed
//! **A reader** that loads a pointer sees the whole value: everything written before it was published. Later
//! loads of the same cell in the same thread never go back to an older version. Two loads may give two
//! versions, also in one section; and of two cells changed one after the other, a reader may see the first
//! one old and the second one new, if it looks at them in that order. What has to agree belongs in one cell.
//!
//! **[`synchronize`]** and everything that waits for a grace period: when it returns, all sections that were
//! open when it was called have ended, and everything in them happened before what follows. Every other
//! section sees all that was done before the call, or is waited for as well: no section that is still open
//! can have found what was unlinked before the call.
//!
//! **Cookies.** [`start_poll`] notes the moment. When [`poll`] says yes, it is as if `synchronize` had been
//! called at that moment and had returned just now.
//!
//! **[`Retired`]**, `retire` and `call`: what is freed or run is so after a grace period that began after
//! the call. The closure sees everything the caller did before. No order among callbacks is promised.
//!
//! **[`barrier()`]**: everything queued before the call, by any thread, has been freed or run when it returns, and
//! what callbacks did is visible. It does not wait for what those callbacks queue in turn, nor for readers
//! if nothing is queued. [`barrier_async`] promises the same of the moment at which it is ready.
//!
//! `docs/ordering.md` lists the edges behind this, and the tests that fail when one is removed.
//!
//! # Costs
//! In the repository, each of these commands prints the number on your machine, beside other libraries.
//!
//! | what | cost | printed by |
//! |---|---|---|
//! | a section: empty, with a load, inside another | 9, 11, 12 instructions on x86-64 | `ci/instructions` |
//! | the same in time | | `quiescent bench read --compare` |
//! | [`Guard::repin`] when nobody waits | a look at one word | `ci/instructions` |
//! | retiring a plain object, and freeing an older one | under 40 instructions, without the allocator's | `ci/instructions` |
//! | the same all in: time, memory held, tails | | `quiescent bench retire --compare` |
//! | the same with `try_retire`, far from the budget | a look at one word more | |
//! | a grace period, one thread registered | no process-wide fence | `quiescent reproduce` |
//! | a grace period, several threads | one process-wide fence, for all who wait | the same |
//! | its latency | | `quiescent bench sync --compare` |
//! | reads beside updates | | `quiescent bench mixed --compare` |
//! | a section that may sleep, its grace periods | beside the ones above | `quiescent bench srcu --compare` |
//! | a section of a [`Domain`], its grace periods; a thousand domains at rest | beside the ones above | `quiescent bench domain --compare` |
//! | nothing to do | no thread wakes | `cargo test -p quiescent --test it quiet` |
//!
//! `ci/instructions --disassembly` shows the instructions themselves. What a running program has done is in
//! [`statistics`], and by callback function in [`telemetry`], which `quiescent top` shows live.
//!
//! # Fork and exit
//! The child of a `fork` goes on with everything. Of what was queued before, it frees plain memory; closures
//! and destructors are the parent's, unless [`Options::inherit_callbacks`] is set. Sections of other threads
//! are over there, and what the forking thread got from them must not be used. A future that was pending
//! has to be polled again. `exit` runs nothing that is pending, and waits for nothing: [`drain`] does.
//!
//! # Platform
//! Linux on x86-64 and aarch64 (64-bit atomics, futex, and `membarrier(2)` where the kernel has it).
//! Only x86-64 has been tested on hardware. Without `membarrier(2)`, or if it is asked for, readers carry the
//! fence: [`FenceMode`], [`Statistics::fence_mode`].
//!
//! # Features
//! All are off by default, and then cost nothing.
//!
//! | feature | what it does |
//! |---|---|
//! | `log`, `tracing` | every [`Report`] goes to the crate of that name as a warning, beside [`on_report()`] |
//! | `locations` | the report of a [stalled reader](guide::stalls) says where its section was opened; two instructions a section |
//!
//! # Where to go on
//! * [`guide`]: a configuration, a routing table, a linked list by hand, signal handlers, long loops, stalled readers, back-pressure,
//!   async code, readers that may sleep, domains.
//! * [`guide::migration`]: coming from crossbeam-epoch or arc-swap.
//! * [`limitations`]: what it does not do, and what happens when something runs out.
//! * `lib/quiescent/examples`: complete programs.
//! * `docs/architecture.md`: how it is made.

#![deny(missing_docs)]
// What these primitives leave out cannot be linked to.
#![cfg_attr(
    quiescent_model,
    allow(rustdoc::broken_intra_doc_links, rustdoc::private_intra_doc_links)
)]

#[cfg(not(target_os = "linux"))]
compile_error!(
    "quiescent runs on Linux only: it needs futex(2), and membarrier(2) where there is one"
);

mod api;
#[cfg(not(quiescent_model))]
mod global;
mod inner;
mod watch;
mod workers;

#[cfg(quiescent_model)]
pub use inner::check;
#[cfg(not(quiescent_model))]
pub use watch::telemetry;

#[cfg(not(quiescent_model))]
use api::future;
use api::{error, guard, refused, report, retire, retired, statistics as stats, tuning, wait};

pub use api::barrier_future::{Barrier, barrier_async};
pub use api::call::{
    Drained, barrier, call, call_head, call_head_hurry, call_head_lazy, call_hurry, call_lazy,
    drain, try_barrier,
};
pub use api::cell::{Exchanged, ExchangedOption, RcuCell, RcuOption};
pub use api::domain::{
    Domain, DomainCell, DomainCookie, DomainGuard, DomainRetired, DomainStatistics, InDomain,
    OwnedDomainGuard,
};
#[cfg(not(quiescent_model))]
pub use api::domain::{DomainBarrier, DomainGracePeriod};
pub use api::error::{InitError, SyncError};
#[cfg(not(quiescent_model))]
pub use api::future::{GracePeriod, grace_period};
pub use api::guard::{Guard, in_section, read, read_lock};
#[cfg(not(quiescent_model))]
pub use api::guide;
#[cfg(not(quiescent_model))]
pub use api::limitations;
pub use api::list::{ListIter, RcuList};
pub use api::options::{Options, init};
pub use api::ptr::{ExchangedPtr, RcuPtr, Shared};
pub use api::refused::{Fullness, Refusal, Refused};
pub use api::report::{Report, on_report};
pub use api::retire::{
    FLUSH, PROMPT, retire, retire_hurry, retire_no_reclaim, retire_ptr, retire_ptr_hurry,
    retire_ptr_no_reclaim,
};
pub use api::retired::Retired;
#[cfg(not(quiescent_model))]
pub use api::srcu::SrcuGracePeriod;
pub use api::srcu::{
    InSrcu, OwnedSrcuGuard, Srcu, SrcuBarrier, SrcuCell, SrcuCookie, SrcuGuard, SrcuRetired,
    SrcuStatistics,
};
pub use api::statistics::{FenceMode, Flushes, Holdout, Statistics, WorkerWakeups};
pub use api::tuning::{
    FlushTimes, drain_ready, flush_times, offload_thread, on_ready, set_drained, set_flush_times,
    set_offload,
};
pub use api::wait::{
    Cookie, poll, start_poll, synchronize, synchronize_expedited, synchronize_timeout,
    try_synchronize, wait,
};
pub use inner::defer::budget::{
    retire_ptr_wait, retire_wait, set_budget, try_retire, try_retire_ptr,
};
pub use inner::defer::laziness::{Breaker, breakers};
pub use inner::queue::intrusive::Head;
pub use watch::pressure::{PressureSource, PressureSources, memory_is_low};
pub use watch::stall::{STALL_AFTER, StallReport, StalledReader, set_stall_after};

/// Counters since the start of the process, and the present state. Takes the domain's lock briefly.
///
/// ```
/// let before = quiescent::statistics();
/// quiescent::synchronize();
/// assert!(quiescent::statistics().grace_periods > before.grace_periods);
/// ```
pub fn statistics() -> Statistics {
    inner::prim::domain().statistics()
}

/// The readers that the grace period in flight waits for, at most 64 of them; empty if none is in
/// flight or nobody has looked yet. Reads their names from `/proc`.
pub fn holdouts() -> Vec<Holdout> {
    inner::prim::domain().holdouts()
}
