//! Tree RCU as a kernel or an RTOS hosts it: every decision about grace periods and callbacks, as a state
//! machine without a clock, threads, CPUs or unsafe code.
//!
//! The system is the one that the literature describes for kernels: a combining tree of quiescent states, a
//! grace-period thread that scans CPUs which do not report, expedited grace periods that interrupt them,
//! preempted readers queued at the leaves, callback lists in segments, offloaded and lazy callbacks, and the
//! rules of the scheduling-clock tick. `docs/kernel-behaviour.md` states the behaviour that it follows, with
//! names and defaults of Linux 6.12. It is an independent implementation. Programs do not need it: grace
//! periods of threads are crate `quiescent`.
//!
//! Three hosts are part of this project: the machine model (`tools/sim`), the test host with the exhaustive
//! search of small machines (`check/harness`), and an RTOS for one processor (`examples/rtos`), which runs on
//! a Cortex-M, too.
//!
//! # What a host does
//! * It keeps one [`Global`] under a lock, and a [`Cpu`] for each CPU under a lock of its own that is taken
//!   first. At boot it gives the engine a tree ([`Global::grow`]) and, if tasks can be preempted in sections,
//!   a table of them ([`Global::grow_tasks`]).
//! * It keeps each CPU's context-tracking word ([`watching`]), and answers the queries of [`Host`].
//! * It reports: each tick ([`Cpu::tick`]), the soft interrupt that a tick asks for ([`Cpu::core`] and a
//!   batch of [`callbacks`]), context switches and the end of sections in which a task was preempted
//!   ([`blocked`]), CPUs that leave ([`Global::departed`]).
//! * It has a grace-period thread, which takes the role of the driver ([`Global::try_drive`]) and does what
//!   each [`Next`] says: step again, issue a fence, sleep some ticks.
//! * It carries out the [`Effects`] of each call, after it has dropped its lock.
//! * It keeps callbacks and waiters in FIFOs; the engine names them by position.
//!
//! # Folders
//! * `periods`: the tree, normal and expedited ([`exp`]) grace periods, scans, preempted readers
//!   ([`blocked`]), waiters, cookies ([`polled`]), [`stall`] reports, trace [`event`]s, the interface
//!   ([`host`]) and the tunables ([`config`]).
//! * `actions`: what a CPU does: [`callbacks`], quiescent-state reports ([`report`]), the [`tick`], floods
//!   ([`flood`]), the pressure of a grace period on CPUs that do not answer ([`urgency`]), idle CPUs with
//!   callbacks ([`fast_no_hz`]), offloaded and lazy callbacks ([`offload`]).
//!
//! What an engine of threads has too is imported from crate `quiescent-engine`: sequence numbers ([`seq`]),
//! the list of callbacks ([`cblist`]) and the [`barrier`].
//!
//! `actions` imports `periods`, and not the other way round. Comments cite the heading "Rules" of
//! `docs/architecture.md` as "rule R1" to "rule R8".
//!
//! ```
//! use quiescent_kernel::{Config, CpuId, Global, Host, LeafId, Next, Now, Seen};
//!
//! /// Two CPUs; the second one is in a section, or idle.
//! struct Two {
//!     reads: bool,
//! }
//!
//! impl Host for Two {
//!     fn cpus(&self) -> u32 {
//!         2
//!     }
//!     fn present(&self, _: LeafId) -> u64 {
//!         0b11
//!     }
//!     fn observe(&self, cpu: CpuId) -> Seen {
//!         Seen { outside: cpu == 0 || !self.reads, stamp: 0 }
//!     }
//! }
//!
//! /// The grace-period thread, for some ticks.
//! fn thread(engine: &mut Global, now: &mut Now, host: &Two) {
//!     for _ in 0..50 {
//!         match engine.step(*now, host).next {
//!             Next::Fence => _ = engine.fenced(), // the host executes one before
//!             Next::Sleep(ticks) => now.jiffies += ticks,
//!             _ => {}
//!         }
//!     }
//! }
//!
//! let config = Config::kernel_6_12(2, 1000);
//! let mut engine = Global::new(config);
//! let tree = Global::new_tree(&config, 2)?;
//! assert!(engine.grow(tree).is_ok() && engine.try_drive(None));
//!
//! let mut now = Now::default();
//! let (ticket, _) = engine.wait_for_gp(0, &Two { reads: true });
//! thread(&mut engine, &mut now, &Two { reads: true });
//! assert!(ticket >= engine.waiters().done(), "the second CPU blocks the grace period");
//! thread(&mut engine, &mut now, &Two { reads: false });
//! assert!(ticket < engine.waiters().done());
//! # Ok::<(), quiescent_kernel::TreeError>(())
//! ```

#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]

extern crate alloc;

mod actions;
mod periods;

pub use actions::{callbacks, fast_no_hz, flood, offload, report, tick, urgency, watching};
pub use periods::{
    blocked, config, cpu, event, exp, geometry, host, limits, polled, stall, waiters,
};
pub use quiescent_engine::{barrier, cblist, seq};

pub use blocked::{TaskId, Tasks};
pub use cblist::CbList;
pub use config::{Config, EarlyQs};
pub use cpu::Cpu;
pub use host::{CpuId, Effects, Host, LeafId, Next, Now, Pos, Published, Seen};
pub use periods::counts::Counts;
pub use periods::global::{Global, Phase};
pub use periods::tree::{Tree, TreeError};
pub use polled::FullCookie;
pub use seq::Seq;
pub use urgency::Nudge;

/// The example of the package's README, compiled as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub mod readme {}
