//! Output of runs: figures for a report, a live view, and a trace as a kernel prints it.

pub(crate) mod live;
pub mod report;
mod trace;
