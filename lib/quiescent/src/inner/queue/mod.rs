//! Queues of callbacks and memory.

pub(crate) mod all;
pub(crate) mod chain;
pub(crate) mod intrusive;
pub(crate) mod kind;
pub(crate) mod lane;
pub(crate) mod per_thread;
pub(crate) mod weight;
