//! Measured figures: a report of rows, the machine, and the statistics that make a row of samples.

pub mod host;
mod report;
pub mod samples;
pub mod stats;

pub use host::Host;
pub use report::{Report, Row, SCHEMA};
pub use samples::{Figure, Samples};

/// The subject of this library's own rows.
pub const OURS: &str = "quiescent";

/// Bytes in a MiB, for metrics that are shown in MiB.
pub const MEBIBYTE: f64 = (1 << 20) as f64;

/// For rates that are shown in millions a second.
pub const MILLION: f64 = 1e6;
