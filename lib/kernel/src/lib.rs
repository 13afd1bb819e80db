//! Tree RCU for kernels: the grace-period engine that a kernel or an RTOS hosts.

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
