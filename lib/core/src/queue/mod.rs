//! Queues of callbacks and memory.

pub mod block;
pub mod chain;
pub mod common;
pub mod intrusive;
pub mod kind;
pub mod lane;
pub mod look;
pub mod meter;
pub mod parcel;
pub mod per_thread;
pub mod weight;
