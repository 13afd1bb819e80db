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
//! | memory of another kind (indexes, buffers, devices) | [`read`] and [`synchronize`], or a [`Cookie`] |
//! | readers that sleep, live across an `await`, or end on another thread | an [`Srcu`], and any of the above under it |
//! | readers that are slow, or memory that must not wait for other people's | a [`Domain`] of its own, and any of the above under it |
//!
//! Read with [`read`] or [`read_lock`]. Replace with `store` or `update`, and drop what comes back. There is
//! nothing to set up and nobody to register; [`Options`] are for those who want something special. Then read the
//! chapter of the [`guide`] that is about your case.
//!
//! # Two verbs: retire and defer
//! *Retire* frees memory ([`Retired::retire`], or drop the [`Retired`]; [`Shared::retire`]). It
//! is lazy, since nobody waits for memory. *Defer* runs code ([`defer()`]), and is prompt. Both are queued with
//! plain stores, and never wait.
//!
//! | strength | memory | code | asked for on its account |
//! |---|---|---|---|
//! | lazy | [`Retired::retire`] | [`defer_lazy`] | when a batch is full, or after [`tuning::FLUSH`] |
//! | prompt | | [`defer()`] | after [`tuning::PROMPT`] at the latest |
//! | at once | [`Retired::retire_hurry`] | [`defer_hurry`] | now |
//!
//! Lazy is never right for a callback that somebody waits for. [`stats::breakers`] tells which callbacks keep the worker
//! awake; [`tuning::set_flush_times`] changes the times. [`Retired::retire_no_reclaim`], [`tuning::set_offload`] and
//! [`tuning::set_drained`] are for threads and programs with deadlines: [guide](guide::event_loops).
//!
//! ```
//! use quiescent::{RcuCell, defer};
//!
//! let cell = RcuCell::new([0u8; 64]);
//! cell.store([1; 64]);                              // retire: the old value, at some time
//! defer(|| println!("all readers of before are gone")); // defer: soon
//! quiescent::barrier();                             // wait until both are done
//! ```
//!
//! Plain memory is given back by the thread that retired it, a little in each later call, or by the worker if
//! that thread goes quiet. Closures and values with a destructor run on the worker: one thread, started when
//! it is first needed, asleep when there is nothing to do. Nothing of yours runs inside `retire` or `defer`,
//! unless [`Options::inline_callbacks`] asks for it; or [`tuning::set_drained`], then code runs where you drain. Whoever wants the work done here and now calls
//! [`drain`].
//!
//! If readers stall, what is queued grows. There is a budget: near it, grace periods hurry and threads help
//! freeing; at it, [`Retired::try_retire`] gives the object back and [`Retired::retire_wait`] waits, while
//! `retire` goes on and says so ([`guide::back_pressure`]).
//!
//! # Safety
//! Everything but [`RcuPtr`]'s linking and retiring, [`Retired::from_raw`] and [`intrusive`] callbacks is safe:
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
//! **Cookies.** [`start_grace_period`] notes the moment. When [`Cookie::is_done`] says yes, it is as if `synchronize` had been
//! called at that moment and had returned just now.
//!
//! **[`Retired`]**, `retire` and `defer`: what is freed or run is so after a grace period that began after
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
//! [`statistics()`], and by callback function in [`telemetry`], which `quiescent top` shows live.
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
//! fence: [`FenceMode`], [`Statistics::fence_mode`](stats::Statistics::fence_mode).
//!
//! # Features
//! All are off by default, and then cost nothing.
//!
//! | feature | what it does |
//! |---|---|
//! | `log`, `tracing` | every [`Report`](report::Report) goes to the crate of that name as a warning, beside [`report::on_report()`] |
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

use api::{error, refused, statistics};

pub use api::barrier::{BarrierFuture, barrier, barrier_async, try_barrier, try_barrier_async};
pub use api::cell::RcuCell;
pub use api::cookie::Cookie;
pub use api::defer::{Drained, defer, defer_hurry, defer_lazy, drain};
pub use api::domain::{Domain, RcuDomain};
pub use api::error::{InitError, SyncError};
#[cfg(not(quiescent_model))]
pub use api::future::{GracePeriod, grace_period, try_grace_period};
pub use api::guard::{Guard, in_section, read, read_lock};
#[cfg(not(quiescent_model))]
pub use api::guide;
pub use api::handle::{Global, Handle, Reads, Singleton, Unique};
pub use api::kind::{Counted, Kind, PerThread, Single};
#[cfg(not(quiescent_model))]
pub use api::limitations;
pub use api::list::{ListIter, RcuList};
pub use api::option::{Exchanged, ExchangedOption, RcuOption};
pub use api::options::Options;
pub use api::ptr::{ExchangedPtr, RcuPtr};
pub use api::refused::{Refusal, Refused};
pub use api::retired::Retired;
pub use api::shared::Shared;
pub use api::srcu::Srcu;
pub use api::statistics::{FenceMode, statistics};
pub use api::wait::{
    start_grace_period, synchronize, synchronize_expedited, synchronize_timeout, try_synchronize,
};
pub use api::{intrusive, report, tuning};

/// What the library has done, what it holds, and who is in the way.
pub mod stats {
    pub use crate::api::refused::Fullness;
    pub use crate::api::statistics::{
        DomainStatistics, Flushes, Holdout, Statistics, WorkerWakeups, holdouts,
    };
    pub use crate::inner::defer::laziness::{Breaker, breakers};
    pub use crate::watch::pressure::{PressureSource, PressureSources};
}
