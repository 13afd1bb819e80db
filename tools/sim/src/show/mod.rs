//! Output of runs: figures for a report, and a trace as a kernel prints it.

pub mod report;
mod trace;
