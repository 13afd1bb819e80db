//! The bottom layer: grace periods, and the parts shared by both kinds of hosts.
//!
//! Numbers and shapes first ([`seq`], [`polled`], [`geometry`], [`event`], [`config`], [`host`]), then the
//! tree, the grace period with its scans, expedited grace periods, preempted readers, waiters, stalls,
//! driver takeover, the grace period of a sole participant, and the callback list with its barrier.

pub mod barrier;
pub mod blocked;
pub mod cblist;
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
pub mod seq;
pub(crate) mod sole;
pub mod stall;
pub mod takeover;
pub(crate) mod tree;
pub mod waiters;
pub(crate) mod worker_timer;
