//! The bottom layer: grace periods, and what the policies above share.

pub mod barrier;
pub mod cblist;
pub mod config;
pub(crate) mod counts;
pub mod cpu;
pub(crate) mod fqs;
pub(crate) mod global;
pub(crate) mod gp;
pub mod host;
pub(crate) mod leaves;
pub(crate) mod parts;
pub mod seq;
pub(crate) mod sole;
pub mod stall;
pub mod takeover;
pub mod waiters;
pub(crate) mod worker_timer;
