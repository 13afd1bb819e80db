//! The RCU of a machine's kernel, as its files show it: the requested settings and those in force, and a
//! recording of its events.
//!
//! | folder | job |
//! |---|---|
//! | `state` | [`Machine`]: one reading below a [`Root`](files::Root): `/`, or a copy of these files |
//! | `buffers` | [`record`](mod@record): a trace of this kernel; [`Activity`]: its rates |
//! | [`telemetry`] | the counters of a program that uses the library, of which its page shows the state |
//! | [`doctor`] | [`diagnose`]: rules that compare the requested settings with those in force |
//!
//! A folder imports only folders that stand above it in this table.
//!
//! ```
//! use quiescent_live::{Machine, Severity, diagnose, files::Root};
//!
//! // Another machine: a folder with its proc/, sys/ and boot/.
//! let folder = tempfile::tempdir()?;
//! std::fs::create_dir(folder.path().join("proc"))?;
//! std::fs::write(folder.path().join("proc/cmdline"), "quiet rcu_nocb=all\n")?;
//! let findings = diagnose(&Machine::read(Root::new(folder.path())));
//! assert_eq!(findings[0].severity, Severity::WithoutEffect);
//! assert_eq!(findings[0].remedy, "write rcu_nocbs=all");
//! # Ok::<(), std::io::Error>(())
//! ```

#![deny(missing_docs)]

/// What each metric of `record` and `doctor` is; `--help-metrics` prints it.
pub const METRICS: &str = include_str!("metrics.txt");

mod buffers;
pub mod doctor;
mod state;
pub mod telemetry;

pub use buffers::{
    Activity, Cleaned, Counters, FunctionCounters, Probed, Rung, clean, events, record, softirqs,
    tracing,
};
pub use doctor::{Finding, Severity, diagnose};
pub use state::{Machine, Place, Task, Version, coarse_tick_ns, files, listed};
