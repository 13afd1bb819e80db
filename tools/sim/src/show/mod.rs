//! What is shown of runs: figures for a report, a look from time to time, and a trace as a kernel prints it.

pub(crate) mod live;
pub mod report;
mod trace;
