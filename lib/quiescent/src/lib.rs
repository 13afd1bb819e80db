//! Read-copy-update (RCU) with lazy, batched reclaiming.
//!
//! For data that many threads read and few threads change: a configuration, a routing table, a list of
//! plug-ins. Readers take no lock, execute no fence, and write to no memory that another thread writes. An
//! updater publishes a new version of the data; the library frees the old version after all readers that may
//! be using it have finished.
//!
//! ```
//! use quiescent::{RcuCell, read};
//!
//! static CONFIG: std::sync::LazyLock<RcuCell<String>> =
//!     std::sync::LazyLock::new(|| RcuCell::new("v1".into()));
//!
//! let length = read(|guard| CONFIG.load(guard).len()); // no lock, no fence
//! let old = CONFIG.store("v2".into()); // readers see v1 or v2
//! drop(old); // retired: freed later, after a grace period
//!
//! // Or wait for the readers, and have the old value back:
//! let old: Box<String> = CONFIG.store("v3".into()).wait();
//! # assert_eq!((length, old.as_str()), (2, "v2"));
//! ```
//!
//! # Read-copy-update in short
//! Readers find the data through a pointer. To change the data, an updater
//!
//! 1. makes a new version, which no reader can find yet (*copy*);
//! 2. stores the new version's address in the pointer, with one atomic store (*update*): a reader that loads
//!    the pointer gets the old version or the new one, each complete;
//! 3. frees the old version later, because readers that loaded the pointer before may still use it.
//!
//! Later readers cannot find the old version, so the updater has to wait only for the readers that are active
//! *now*. For that, a reader marks its beginning and its end: from [`read_lock`] until its [`Guard`] is
//! dropped it is in a read-side critical section, a *section* for short. The time until all sections have
//! ended that were open at some moment is a *grace period*.
//!
//! ```text
//! reader A  ──[ old ]──────────────────────────
//! reader B  ──────[ old   old   old ]──────────     waited for
//! reader C  ────────────[ new   new   new   new ]─  not waited for
//!                     ▲             ▲
//! updater         publishes     frees the old version
//!                     └─────────────┘
//!                      grace period
//! ```
//!
//! The grace period waits for B. It does not wait for C, which cannot find the old version.
//!
//! Readers pay nothing for this. Updaters pay, and share the cost: one grace period serves everything that
//! was replaced before it. Usually no thread waits: the old version is *retired*, and the library frees it
//! later.
//!
//! # Where to use it
//! Use it where reads are many and updates few, where readers must not be delayed, or where they run in
//! places that do not allow locks, such as signal handlers.
//!
//! Do not use it
//! * for data that is written about as often as it is read: use a lock;
//! * if readers must keep what they found for long (over a network call, for example): use an `Arc`, perhaps
//!   inside a cell, or an [`Srcu`]. An open section blocks the reclaiming of the whole process (a section of
//!   a [`Domain`] blocks only that domain's);
//! * if readers must always see the latest version: a reader may continue with an old version until its
//!   section ends;
//! * if a value is too large to copy and its parts change one by one: use a lock, or link the parts.
//!
//! # Quick start
//! | data | type |
//! |---|---|
//! | one value, replaced as a whole | [`RcuCell`]; [`RcuOption`] if it may be absent |
//! | a list | [`RcuList`] |
//! | a structure of your own with links | [`RcuPtr`]; removing objects is `unsafe` |
//! | memory of another kind (indexes, buffers, devices) | [`read`] and [`synchronize`], or a [`Cookie`] |
//! | readers that sleep, cross an `await`, or end on another thread | an [`Srcu`], with any of the above |
//! | slow readers, or memory that must not wait for them | a [`Domain`], with any of the above |
//!
//! Read with [`read`] or [`read_lock`]. Replace with `store` or `update`, and drop the result. No set-up and
//! no registration is needed; [`Options`] change the defaults. The [`guide`] has a chapter for each use.
//!
//! # Retire and defer
//! *Retire* frees memory after a grace period ([`Retired::retire`], or dropping the [`Retired`];
//! [`Shared::retire`]). It is lazy, because no thread waits for memory. *Defer* runs code after a grace
//! period ([`defer()`]), and is prompt. Both queue with plain stores, and never wait.
//!
//! | urgency | memory | code | the grace period is requested |
//! |---|---|---|---|
//! | lazy | [`Retired::retire`] | [`defer_lazy`] | when a batch is full, or after [`tuning::FLUSH`] |
//! | prompt | | [`defer()`] | after [`tuning::PROMPT`] at the latest |
//! | hurry | [`Retired::retire_hurry`] | [`defer_hurry`] | at once |
//!
//! Do not use lazy for a callback that another thread waits for. `quiescent top` lists the callbacks that
//! wake the worker most; [`tuning::set_flush_times`] changes the times. [`Retired::on_worker`],
//! [`tuning::set_on_worker`] and [`Runner::Drained`] are for threads and programs with deadlines:
//! [guide](guide::event_loops).
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
//! A retired value is dropped by the thread that retired it: one or two in each later call of `retire` or
//! `store` outside of sections, or, for what it retires inside, at the end of its outermost section; or by
//! the worker if that thread becomes quiet. So hold no lock there that a destructor takes, or use
//! [`Retired::on_worker`]. Closures run on the worker: one thread that the library starts on first use and
//! that sleeps while nothing is due. [`tuning::set_destructors`] and [`tuning::set_closures`] set another
//! [`Runner`]: the thread itself, the worker, or the program where it drains. [`drain`] does the work at
//! once, in the calling thread.
//!
//! While readers stall, the queues grow. The *budget* limits them: near it, grace periods are expedited and
//! threads help to free; at it, [`Retired::try_retire`] returns the object and [`Retired::retire_wait`]
//! waits, while `retire` queues and a report is made ([`guide::back_pressure`]).
//!
//! # Safety
//! Everything is safe except linking and retiring with [`RcuPtr`], [`Retired::from_raw`], [`intrusive`]
//! callbacks, and [`retire`](retire()) and [`defer_unchecked`] for
//! [pointers of your own](guide::own_pointers):
//!
//! * what `load` returns borrows the guard and the cell: it cannot outlive the section, nor the cell;
//! * a [`Guard`] stays on its thread: it is neither `Send` nor `Sync`;
//! * values are `Send + Sync + 'static`: threads share them, and any thread may free them, later;
//! * waiting inside a section of the same thread would never end. [`try_synchronize`] refuses it and
//!   [`synchronize`] panics, in every build; in callbacks, too.
//!
//! No type prevents a deadlock in which a reader, inside its section, waits for a thread that waits for a
//! grace period. So hold no lock while you wait that is taken inside sections. [`limitations`] lists such
//! rules.
//!
//! # Guarantees
//! **A reader** that loads a pointer sees the complete value: everything written before it was published.
//! Later loads of the same cell in the same thread never return an older version. Two loads may return two
//! versions, also in one section. If two cells are changed one after the other, a reader may see the first
//! one old and the second one new, if it loads them in that order. Values that must agree belong in one cell.
//!
//! **[`synchronize`]** and every other call that waits for a grace period: when it returns, all sections that
//! were open when it was called have ended, and everything in them happened before what follows. Every other
//! section sees everything that was done before the call, or has ended as well: no section that is still open
//! can have found what was unlinked before the call.
//!
//! **Cookies.** [`start_grace_period`] records the moment. When [`Cookie::is_done`] returns true, the effect
//! is as if `synchronize` had been called at that moment and had returned just now.
//!
//! **[`Retired`]**, `retire` and `defer`: objects are freed and closures run after a grace period that began
//! after the call. The closure sees everything that the caller did before. Callbacks run in no particular
//! order.
//!
//! **[`barrier()`]**: when it returns, everything queued before the call, by any thread, has been freed or
//! run, and the callbacks' effects are visible. It does not wait for what those callbacks queue in turn, nor
//! for readers if nothing is queued. [`barrier_async`] gives the same guarantee at the moment it is ready.
//!
//! `docs/ordering.md` lists the memory-ordering edges behind this, and the tests that fail when one is
//! removed.
//!
//! # Costs
//! The commands below, run in the repository, print each number on your machine, beside other libraries.
//!
//! | what | cost | printed by |
//! |---|---|---|
//! | a section: empty; with a load; nested | 9, 11, 12 instructions on x86-64 | `ci/instructions` |
//! | the same in time | | `quiescent bench read --compare` |
//! | [`Guard::repin`] when no thread waits | a load of one word | `ci/instructions` |
//! | retire a plain object, free another | under 40 instructions without the allocator | `ci/instructions` |
//! | the same in total: time, memory held, tails | | `quiescent bench retire --compare` |
//! | the same with `try_retire`, far from the budget | one more load | |
//! | a grace period, one thread registered | no process-wide fence | `quiescent reproduce` |
//! | a grace period, several threads | one process-wide fence, shared by all waiters | the same |
//! | its latency | | `quiescent bench sync --compare` |
//! | reads beside updates | | `quiescent bench mixed --compare` |
//! | an [`Srcu`] section, its grace periods | | `quiescent bench read --compare`, `bench sync` |
//! | a [`Domain`] section, its grace periods; 1000 idle domains | | `quiescent bench read`, `sync`, `idle` |
//! | nothing queued, no waiter | no thread wakes | `cargo test -p quiescent --test it quiet` |
//!
//! `ci/instructions --disassembly` shows the instructions. [`statistics()`] returns what the running program
//! has done; [`telemetry`] breaks it down by callback function, and `quiescent top` displays that live.
//!
//! # Fork and exit
//! The child of a `fork` can use the whole library. Of what was queued before, it frees plain memory;
//! closures and destructors run in the parent only, unless [`Options::inherit_callbacks`] is set. Sections of
//! other threads have ended in the child, and references that the forking thread got from them must not be
//! used. A future that was pending must be polled again. `exit` runs no pending callbacks, and waits for
//! nothing; call [`drain`] before it.
//!
//! # Platform
//! Any system with the standard library and 64-bit atomics. Linux has all of the above; what others lack is
//! in the [limits](limitations#systems-other-than-linux), and a program can ask for it
//! ([`stats::guarantees`]). Where no system call is a fence of all threads, or on request, readers execute
//! one themselves: [`FenceMode`], [`Statistics::fence_mode`](stats::Statistics::fence_mode).
//!
//! # Features
//! On by default, because programs that need them find out late. KB: what a small program gets larger by each
//! (x86-64 Linux, stripped; `ci/size --weights` measures it).
//!
//! | feature | KB | without it |
//! |---|---|---|
//! | `telemetry` | 20 | no [`telemetry`], and `quiescent top` shows nothing of the process |
//! | `fork` | 15 | the child of a fork may only execute another program |
//! | `helpers` | 11 | one worker; while a callback does not return, no other one runs |
//! | `pressure` | 7 | only [`tuning::memory_is_low`] says that memory is low |
//!
//! Without a feature its options have no effect, and [`stats::guarantees`] says so. These are off by default,
//! and then cost nothing; `log` makes the small program 25 KB larger, `tracing` 52:
//!
//! | feature | what it does |
//! |---|---|
//! | `log`, `tracing` | sends every [`Report`](report::Report) to that crate as a warning |
//! | `locations` | [stall reports](guide::stalls) name where sections began; two instructions a section |
//!
//! # Further reading
//! * [`guide`]: a configuration, a routing table, a linked list by hand, signal handlers, long loops, stalled
//!   readers, back-pressure, async code, readers that may sleep, domains.
//! * [`guide::migration`]: coming from another crate, or from liburcu.
//! * [`limitations`]: what the library does not do, and what happens when a resource runs out.
//! * `lib/quiescent/examples`: complete programs.
//! * `docs/glossary.md`: the words; `docs/architecture.md`: the design.
//! * `docs/performance.md`: measured figures, beside those of other libraries.

#![deny(missing_docs)]
// Pages say which feature or system an item needs; not which primitives, which are for checkers.
#![cfg_attr(docsrs, feature(doc_cfg), doc(auto_cfg(hide(quiescent_model))))]
// Links to items that these primitives, or a missing feature, leave out are broken.
#![cfg_attr(
    any(
        quiescent_model,
        not(all(
            feature = "telemetry",
            feature = "fork",
            feature = "pressure",
            feature = "helpers"
        ))
    ),
    allow(rustdoc::broken_intra_doc_links, rustdoc::private_intra_doc_links)
)]

mod api;
mod global;
mod watch;

#[cfg(quiescent_model)]
#[path = "../../../check/models/inside/quiescent/check.rs"]
pub mod check;
#[cfg(feature = "telemetry")]
pub use api::telemetry;

pub use api::cell::RcuCell;
pub use api::cookie::Cookie;
pub use api::domain::{Domain, RcuDomain, Singleton};
#[cfg(feature = "foreign")]
#[doc(hidden)]
pub use api::foreign;
pub use api::future::BarrierFuture;
#[cfg(not(quiescent_model))]
pub use api::future::GracePeriod;
pub use api::guard::{Guard, in_section, read, read_lock};
#[cfg(not(quiescent_model))]
pub use api::guide;
pub use api::handle::{Global, Handle, HandlesLeft, Reads, Unique};
pub use api::held::Held;
pub use api::home::{
    Drained, barrier, barrier_async, defer, defer_hurry, defer_lazy, drain, start_grace_period,
    statistics, synchronize, synchronize_expedited, synchronize_timeout, try_barrier,
    try_barrier_async, try_synchronize,
};
#[cfg(not(quiescent_model))]
pub use api::home::{grace_period, try_grace_period};
pub use api::kind::{Counted, Kind, Many, MaySend, PerThread, Sendable, Single};
#[cfg(not(quiescent_model))]
pub use api::limitations;
pub use api::list::{ListIter, ListNode, RcuList};
pub use api::option::{Exchanged, ExchangedOption, RcuOption};
pub use api::options::Options;
pub use api::ptr::{ExchangedPtr, RcuPtr};
pub use api::retired::{Refused, Retired};
pub use api::shared::Shared;
#[cfg(not(quiescent_model))]
pub use api::shutdown::{Left, Shutdown, shutdown};
pub use api::srcu::Srcu;
pub use api::thread_index::{THREAD_INDEXES, fork_generation, thread_index, with_thread_index};
pub use api::unchecked::{defer_unchecked, retire, retire_weighed};
pub use api::weigh::Weigh;
pub use api::{intrusive, report, tuning};
pub use quiescent_core::domain::error::Refusal;
pub use quiescent_core::domain::error::{InitError, SyncError};
pub use quiescent_core::domain::settings::Runner;

pub use quiescent_core::reader::mode::FenceMode;

/// What `lib/capi` is made of: the process's domain and thread-locals, and sections without a guard. Not a
/// part of the interface.
#[cfg(not(quiescent_model))]
#[doc(hidden)]
pub mod raw {
    pub use crate::global::{env, home, local, section, with_local};
    #[cfg(feature = "telemetry")]
    pub use crate::watch::telemetry::place_of;
}

/// Counters, what is queued, and the readers that block a grace period.
pub mod stats {
    #[cfg(not(quiescent_model))]
    pub use crate::api::guarantees::{Guarantees, guarantees};
    pub use crate::api::home::holdouts;
    pub use quiescent_core::domain::error::Fullness;
    pub use quiescent_core::domain::statistics::{
        DomainStatistics, Flushes, Statistics, WorkerWakeups,
    };
    pub use quiescent_core::os::pressure::{PressureSource, PressureSources};
    pub use quiescent_core::reader::holdout::Holdout;
}
