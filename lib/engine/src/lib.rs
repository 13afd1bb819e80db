//! The grace-period engine of *quiescent*: every RCU decision, once.
//!
//! An independent implementation of the Linux kernel's tree-RCU grace-period engine as a pure state
//! machine: no clock, no threads, no unsafe code, no floating point, no hashing. A host owns a
//! [`Global`] under one lock, answers the few questions of [`Host`], and carries out the [`Effects`].
//! The thread host (crate `quiescent`) and the machine model run this same code.
//!
//! Ground floor first: [`seq`] (arithmetic of sequence numbers), [`polled`] (cookies), [`watching`]
//! (the context-tracking word), [`geometry`] (shape of the tree), [`event`] (trace events),
//! [`config`] (tunables), [`host`] (the border), then the tree, the grace period and its scans,
//! [`blocked`] (preempted readers), [`indexed`] (readers that may sleep), [`exp`] (expedited grace periods), the waiters, what a kernel's CPU
//! does by itself ([`report`], [`tick`], [`fast_no_hz`], [`flood`], [`urgency`]), what others do for it
//! ([`offload`]), [`stall`] (who is in the way for too long), and [`replay`] (inputs as values). `docs/architecture.md`
//! tells the whole picture.
//!
//! ```
//! use quiescent_engine::testhost::TestHost;
//!
//! let mut machine = TestHost::threads(2);
//! machine.enter(1); // CPU 1 opens a section
//! let ticket = machine.wait_for_gp(0);
//! machine.drive(0, ticket, 50);
//! assert!(!machine.satisfied(ticket), "CPU 1 is in the way");
//! machine.exit(1);
//! machine.drive(0, ticket, 50);
//! assert!(machine.satisfied(ticket));
//! ```

#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]

extern crate alloc;

mod common;
mod kernel;
mod record;
pub mod testhost;
mod threads;

pub use common::{
    barrier, blocked, cblist, config, cpu, event, exp, geometry, host, polled, seq, stall, usurp,
    waiters,
};
pub use kernel::{callbacks, fast_no_hz, flood, limits, offload, report, tick, urgency, watching};
pub use record::replay;
pub use threads::{budget, credit, crew, indexed, owner, pressure};

pub use blocked::{TaskId, Tasks};
pub use cblist::CbList;
pub use common::counts::Counts;
pub use common::fqs::Wait;
pub use common::global::{Global, Interest, Phase};
pub use common::tree::{Tree, TreeError};
pub use config::{Config, EarlyQs, Pace, Readers};
pub use cpu::{Cpu, LANES, Lane};
pub use host::{CpuId, Effects, FenceCause, Host, LeafId, Next, Now, Pos, Published, Seen, Until};
pub use polled::FullCookie;
pub use seq::Seq;
pub use urgency::Nudge;
pub use usurp::Look;
