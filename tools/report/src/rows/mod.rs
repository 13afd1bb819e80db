//! What was found: a report of rows, the machine they are from, and the statistics that make a row of samples.

pub mod host;
mod report;
pub mod samples;
pub mod stats;

pub use host::Host;
pub use report::{Report, Row, SCHEMA};
pub use samples::{Figure, Samples};

/// The subject of this library's own rows.
pub const OURS: &str = "quiescent";
