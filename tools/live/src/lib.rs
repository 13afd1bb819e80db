//! The live kernel of a machine, as far as its files tell: what is in force of what was asked of its RCU, and a record of what it does.
//!
//! | module | job |
//! |---|---|
//! | [`files`] | [`Root`](files::Root): small files below a root, `/` or a copy of another machine's; how configurations and command lines read |
//! | `machine`, `task`, `cpus`, `tracefs` | [`Machine`]: all that is read about one, once |
//! | [`events`], `instance`, `mount`, `sorted`, [`record`] | a trace of this kernel, in buffers of our own that go away whatever happens; the inside of `quiescent record` |
//! | `tallies`, `activity` | [`Activity`]: what it does now, by the best source there is; the inside of `quiescent top --kernel` |
//! | [`doctor`] | [`diagnose`]: rules that compare what was asked with what is in force; the inside of `quiescent doctor` |
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
//! assert_eq!(findings[0].remedy, "write rcu_nocbs=CPUS");
//! # Ok::<(), std::io::Error>(())
//! ```

#![deny(missing_docs)]

mod activity;
mod cpus;
pub mod doctor;
pub mod events;
pub mod files;
mod instance;
mod machine;
mod mount;
pub mod record;
mod sorted;
mod tallies;
mod task;
mod tracefs;

pub use activity::{Activity, Rung, softirqs};
pub use cpus::listed;
pub use doctor::{Finding, Severity, diagnose};
pub use machine::{Machine, coarse_tick_ns};
pub use mount::tracing;
pub use tallies::{Tallies, Tally};
pub use task::Task;
pub use tracefs::Place;
