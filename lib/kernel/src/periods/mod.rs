//! Grace periods: the tree, normal and expedited grace periods with their scans, preempted readers, waiters
//! and stalls; the interface to the host; and the state of a CPU.

pub mod blocked;
pub mod config;
pub(crate) mod counts;
pub mod cpu;
pub mod event;
pub mod exp;
pub(crate) mod fqs;
pub mod geometry;
pub(crate) mod global;
pub(crate) mod gp;
pub mod host;
pub mod limits;
pub(crate) mod parts;
pub mod polled;
pub(crate) mod requests;
pub mod stall;
pub(crate) mod tree;
pub mod waiters;
