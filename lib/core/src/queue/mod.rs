//! Queues of callbacks and memory.

pub mod block;
pub mod chain;
pub mod common;
pub mod intrusive;
pub mod kind;
pub mod lane;
#[cfg_attr(not(feature = "telemetry"), path = "meter/absent.rs")]
pub mod meter;
pub mod parcel;
pub mod per_thread;
pub mod weight;
