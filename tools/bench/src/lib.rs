//! Measurements of `quiescent` beside other libraries.
//!
//! The `quiescent` command is the way in. Each folder imports only those above it:
//!
//! | folder | job |
//! |---|---|
//! | [`measure`] | clocks, threads, measuring processes, the order of turns |
//! | [`subjects`] | subjects that read and wait: one file a library, the same loops for all |
//! | [`deferral`] | subjects that reclaim later: one file a library, the same loops for all |
//! | [`instructions`] | callgrind's counts of the same loops, and the disassembly of quiescent's |
//! | [`cases`] | the measurements: a module for each command of `bench` |
//! | `targets` | the targets over all that `reproduce` measures (on Linux) |
//!
//! Three rules hold throughout. Subjects are measured *in turn*, interleaved, in many short rounds whose
//! order rotates, because a shared machine drifts. What the loop itself costs is measured the same way and
//! subtracted. No figure is compared with one of another run.

/// What each metric is; `quiescent bench --help-metrics` prints it.
pub const METRICS: &str = include_str!("metrics.txt");

pub mod cases;
pub mod deferral;
pub mod instructions;
pub mod measure;
pub mod subjects;
#[cfg(target_os = "linux")]
pub mod targets;
