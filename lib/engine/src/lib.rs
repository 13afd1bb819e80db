//! The grace-period engine of *quiescent*: every RCU decision, once.
//!
//! An independent implementation of the Linux kernel's tree-RCU grace-period engine as a pure state machine:
//! no clock, no threads, no unsafe code, no floating point, no hashing. A host keeps a [`Global`] under one
//! lock, answers the few queries of [`Host`], and carries out the [`Effects`]. The thread host (crate
//! `quiescent`) and the machine model run this same code.
//!
//! # Folders
//! * `common`: what both kinds of hosts run. Numbers, shapes and the interface: [`seq`], [`polled`]
//!   (cookies), [`geometry`], [`event`] (trace events), [`config`], [`host`]. The tree, the grace period and
//!   its scans, [`exp`] (expedited grace periods), [`blocked`] (preempted readers), [`waiters`], [`takeover`]
//!   (of the driver role), [`stall`], [`cblist`], [`barrier`]. Data that [`Cpu`] and [`Global`] keep for the
//!   other folders.
//! * `kernel`: the actions of a kernel's CPU ([`callbacks`], [`report`], [`tick`], [`fast_no_hz`], [`flood`],
//!   [`urgency`], [`watching`]), and of its offload threads ([`offload`]).
//! * `threads`: the policy of the thread host: [`credit`], [`batch`], [`budget`], [`pool`] (workers),
//!   [`pressure`] (low memory), [`owner`], [`indexed`] (readers that may sleep).
//! * [`record`]: calls and answers as values.
//!
//! `record` imports `kernel` and `threads`, these import `common` and not each other. `docs/architecture.md`
//! has the whole picture; comments cite its heading "Rules" as "rule R1" to "rule R8".
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
//!     fn present(&self, _: LeafId) -> u64 {
//!         0b11
//!     }
//!     fn observe(&self, cpu: CpuId) -> Seen {
//!         Seen { outside: cpu == 0 || !self.reads, stamp: 0 }
//!     }
//!     fn own_quiescent(&self, _: CpuId) -> bool {
//!         false
//!     }
//! }
//!
//! fn drive(engine: &mut Global, host: &Two) {
//!     let mut next = Next::Again;
//!     loop {
//!         next = match next {
//!             Next::Again | Next::Spin(_) => engine.step(Now::default(), host).next,
//!             Next::Fence(_) => engine.fenced(), // the host executes one before
//!             Next::FlagHoldouts { .. } => engine.flagged(0),
//!             Next::Grow(cpus) => {
//!                 let tree = Global::new_tree(engine.config(), cpus).expect("two fit");
//!                 let _ = engine.grow(tree);
//!                 Next::Again
//!             }
//!             Next::Sleep(_) | Next::Done | Next::HandOver => return,
//!         };
//!     }
//! }
//!
//! let mut engine = Global::new(Config::threads());
//! let (ticket, _) = engine.wait_for_gp(0, false, &Two { reads: true });
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

pub mod batch;
pub mod budget;
mod common;
pub mod config;
pub mod cpu;
pub mod credit;
mod deadline;
pub mod driver;
mod gp;
pub mod host;
pub mod indexed;
mod leaves;
pub mod owner;
pub mod pool;
pub mod pressure;
pub mod stall;
mod waiters;

pub use common::{barrier, cblist, seq};

pub use cblist::CbList;
pub use config::{Config, Pace, Readers};
pub use cpu::{Cpu, LANES, Lane};
pub use driver::Look;
pub use gp::{Counts, Global, Interest, Phase, Wait};
pub use host::{CpuId, FenceCause, Host, LeafId, Next, Now, Pos, Seen};
pub use leaves::{Leaves, OutOfMemory};
pub use seq::Seq;
pub use waiters::Waiters;
