//! The grace period of threads: every RCU decision of *quiescent*, once.
//!
//! A pure state machine: no clock, no threads, no unsafe code, no floating point, no hashing. A host keeps a
//! [`Global`] a domain under one lock and a [`Cpu`] a queue under a lock of its own, answers the few queries
//! of [`Host`], and does what is returned ([`Next`], [`Refill`](credit::Refill)). The hosts are the library
//! (crate `quiescent-core`), the machine models that run the library's own code, and the tests of
//! `check/harness/threads`.
//!
//! # Invariants
//! * A grace period ends only after every section has ended that was open at its start ([`gp`](Global)).
//! * A waiter is satisfied, and a callback is done, only by a grace period that started after it was queued
//!   ([`Waiters`], [`cblist`]).
//! * A driver sleeps only if every holdout will see its flag; a driver that does not run is replaced
//!   ([`driver`]).
//! * What is queued has a deadline, and the worker's timer is set no later ([`credit`]). Where nothing is
//!   queued no thread is woken.
//! * What is held stays near the budget, and is counted exactly where nothing is queued ([`budget`]).
//!
//! # An hour's reading
//! | file | what it has |
//! |---|---|
//! | `host` | the interface: queries, and the driver's next action |
//! | `seq` | numbers of grace periods, cookies |
//! | `global`, `gp` | the state of a domain; the grace period: requests, start, scans, waits, end |
//! | `leaves`, `waiters` | who still owes, a word a leaf; the FIFO of callers |
//! | `driver`, `stall` | the role and its takeover; reports of readers that block |
//! | `indexed` | readers that may sleep: two counts in place of threads |
//! | `cblist`, `barrier` | the list of callbacks as a position and counts; waiting for all of them |
//! | `cpu`, `credit`, `deadline` | a queue: how far its owner goes alone, when a grace period is requested |
//! | `batch`, `budget` | how many callbacks share a grace period; the limit of what is held |
//! | `pool`, `pressure`, `owner`, `config` | a second worker; low memory and the timer; numbers; settings |
//!
//! `seq`, `cblist` and `barrier` are a kernel's too (crate `quiescent-kernel`). `docs/architecture.md` has
//! the whole picture; comments cite its heading "Rules" as "rule R1" to "rule R11".
//!
//! ```
//! use quiescent_engine::{Config, CpuId, Global, Host, Interest, LeafId, Next, Now, Seen};
//!
//! /// Two registered threads; the second one is in a section, or not.
//! struct Two {
//!     reads: bool,
//! }
//!
//! impl Host for Two {
//!     fn cpus(&self) -> u32 {
//!         2
//!     }
//!     fn present(&self, leaf: LeafId) -> u64 {
//!         if leaf == 0 { 0b11 } else { 0 }
//!     }
//!     fn observe(&self, cpu: CpuId) -> Seen {
//!         Seen { outside: cpu == 0 || !self.reads, stamp: 0 }
//!     }
//! }
//!
//! fn drive(engine: &mut Global, host: &Two) {
//!     let mut next = Next::Again;
//!     loop {
//!         next = match next {
//!             Next::Again | Next::Spin(_) | Next::Report => engine.step(Now::default(), host, 32),
//!             Next::Fence(_) => engine.fenced(), // the host executes one before
//!             Next::FlagHoldouts { .. } => engine.flagged(0),
//!             Next::Grow(cpus) => {
//!                 let leaves = Global::new_leaves(engine.config(), cpus).expect("two fit");
//!                 let _ = engine.grow(leaves);
//!                 Next::Again
//!             }
//!             Next::Sleep(_) | Next::Done | Next::HandOver => return,
//!         };
//!     }
//! }
//!
//! let mut engine = Global::new(Config::threads());
//! let ticket = engine.wait_for_gp(false);
//! assert!(engine.try_drive(Some(0), Interest::Waiter(ticket)));
//! drive(&mut engine, &Two { reads: true });
//! assert!(ticket >= engine.waiters().done(), "the second thread blocks the grace period");
//! drive(&mut engine, &Two { reads: false });
//! assert!(ticket < engine.waiters().done());
//! ```

#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]

extern crate alloc;

pub mod barrier;
pub mod batch;
pub mod budget;
pub mod cblist;
pub mod config;
pub mod cpu;
pub mod credit;
mod deadline;
pub mod driver;
mod global;
mod gp;
pub mod host;
pub mod indexed;
mod leaves;
pub mod owner;
pub mod pool;
pub mod pressure;
pub mod seq;
pub mod stall;
mod waiters;

pub use cblist::CbList;
pub use config::{Config, Pace, Readers};
pub use cpu::Cpu;
pub use driver::Look;
pub use global::{Counts, Global, Interest, Phase, Wait};
pub use host::{CpuId, FenceCause, Host, LANES, Lane, LeafId, Next, Now, Pos, Seen};
pub use leaves::{Leaves, OutOfMemory};
pub use seq::Seq;
pub use waiters::Waiters;

/// The example of the package's README, compiled as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub mod readme {}
