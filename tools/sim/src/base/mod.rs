//! The lowest layer: errors, random numbers, many runs at once.

pub mod batch;
pub mod chance;
pub(crate) mod error;
pub(crate) mod mean;
