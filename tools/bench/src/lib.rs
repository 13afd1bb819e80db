//! Measurements of `quiescent` beside other libraries.
//!
//! The `quiescent` command is the way in. Each folder imports only those above it:
//!
//! | folder | job |
//! |---|---|
//! | [`measure`] | clocks, threads, measuring processes, the order of turns |
//! | [`subjects`] | subjects that read and wait: the same loops for all |
//! | [`deferral`] | subjects that reclaim later: the same loops for all |
//! | [`maps`] | maps: the same loads for all |
//! | `peers` | the libraries: one file each, with its read side, its way to reclaim later, its map |
//! | [`instructions`] | callgrind's counts of the same loops, and the disassembly of quiescent's |
//! | [`targets`] | what is promised, from `targets.toml` |
//! | [`cases`] | the measurements: a table and its body for each command of `bench` |
//!
//! Three rules hold throughout. Subjects are measured *in turn*, interleaved, in many short rounds whose
//! order rotates, because a shared machine drifts. What the loop itself costs is measured the same way and
//! subtracted. No figure is compared with one of another run.

/// What each metric is; `quiescent bench --help-metrics` prints it.
pub const METRICS: &str = include_str!("metrics.txt");

pub mod cases;
pub mod deferral;
pub mod instructions;
pub mod maps;
pub mod measure;
mod peers;
pub mod subjects;
pub mod targets;
