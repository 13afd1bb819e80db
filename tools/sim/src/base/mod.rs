//! The lowest layer: errors, random numbers, the queue of events, many runs at once.

pub mod batch;
pub mod chance;
pub(crate) mod error;
pub(crate) mod events;
pub(crate) mod mean;
