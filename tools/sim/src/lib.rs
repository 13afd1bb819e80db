//! A deterministic model of a machine with many CPUs, on which the engine of *quiescent* is the kernel's RCU.
//!
//! Virtual time in nanoseconds, one queue of events, whole numbers only: a seed gives the same run again, on
//! any processor. CPUs take ticks, soft interrupts and interrupts from each other, run tasks, and idle; the
//! timers of the wheel are taken by the CPU that would take them on a real machine. The engine (crate
//! `quiescent-engine`) makes RCU's decisions; this crate only carries them out, so that a run is also the
//! strongest test of the engine.
//!
//! ```
//! use quiescent_sim::{Steps, Machine, Options};
//!
//! let mut machine = Machine::new(Options::kernel_6_12(8, 1000));
//! machine.spawn("caller", 1, 0, Steps::caller(100, 0));
//! assert!(machine.run_tasks(2_000_000_000), "a hundred calls take a second of virtual time");
//! let stats = machine.stats();
//! assert!(stats.grace_periods.iter().all(|gp| gp.scans == 2)); // only the thread's own CPU was in the way
//! ```
//!
//! | folder | is about |
//! |---|---|
//! | `base` | [`chance`], errors, the queue of events, spans of time, [many runs at once](batch) |
//! | `text` | values and files in TOML, with the place of everything in them |
//! | [`idling`] | idle states, governors, the package, power |
//! | `input` | a machine's options, and the actions of tasks |
//! | `record` | a run's results: statistics, notes, system calls, the oracle's verdict |
//! | `kernel` | the machine of a kernel: CPUs, timers, threads, the host of the engine |
//! | `load` | [`settings`] by name, and [`Workload`]s: files that describe a machine's tasks |
//! | `show` | [figures of runs](report), a trace as a kernel prints it |
//! | [`torture`] | random machines under random load, with faults |
//! | [`whatif`] | machines that [`replay`] a recorded trace, and their figures under other settings |
//! | [`experiments`] | figures of real machines, beside those of the model |
//!
//! A folder imports only folders that stand above it in this table.

#![deny(unsafe_code)]
#![deny(missing_docs)]

mod base;
pub mod experiments;
pub mod idling;
mod input;
mod kernel;
mod load;
mod record;
mod show;
mod text;
pub mod torture;
pub mod whatif;

pub use base::error::Error;
pub use base::{batch, chance};
pub use input::op::{Op, Queued, SrcuOp, SysCallName, Work};
pub use input::options::{Costs, IdleLoop, Options, Smp};
pub use input::release::Release;
pub use input::steps::{Steps, Time};
pub use input::work::{Arrivals, Churn, Hog};
pub use kernel::machine::Machine;
pub use kernel::state::Faults;
pub use load::settings;
pub use load::workload::{Parameter, Plan, Workload};
pub use record::look::{InTheWay, Look, TaskLook};
pub use record::points::{Point, points};
pub use record::stats::{
    Credits, FullTicks, Func, GracePeriod, Held, Intervals, SrcuStats, Stats, Synchronized, Totals,
};
pub use record::syscalls::{Owed as SysCallback, SysCall};
pub use show::report;
pub use whatif::replay;
