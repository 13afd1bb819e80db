//! What everything else stands on: errors, chance, the queue of events, spans of time, many runs at once.

pub mod batch;
pub mod chance;
pub(crate) mod error;
pub(crate) mod events;
pub(crate) mod mean;
pub(crate) mod span;
