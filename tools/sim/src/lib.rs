//! A deterministic model of a machine with many CPUs, on which the engine of *quiescent* is the kernel's RCU.
//!
//! Virtual time in nanoseconds, one queue of events, whole numbers only: a seed gives the same run again, on any
//! processor. CPUs take ticks, soft interrupts and interrupts from each other, run tasks, and idle; the timers of the wheel are taken by whoever
//! a real machine would have take them. What RCU decides is the engine's (crate `quiescent-engine`); this crate only
//! carries it out, so that a run is also the strongest test of the engine there is.
//!
//! ```
//! use quiescent_sim::{Caller, Machine, Options};
//!
//! let mut machine = Machine::new(Options::kernel_6_12(8, 1000));
//! machine.spawn("caller", 1, 0, Caller::new(100, 0));
//! assert!(machine.run_tasks(2_000_000_000), "a hundred calls take a second of virtual time");
//! let stats = machine.stats();
//! assert!(stats.grace_periods.iter().all(|gp| gp.scans == 2)); // only the thread's own CPU was in the way
//! ```
//!
//! | file | is about |
//! |---|---|
//! | `events` | what happens next |
//! | `wheel` | when timers fire, and who takes them |
//! | `machine` | the parts, and how time passes |
//! | `smp` | who executes |
//! | `exec` | what a CPU does: interrupts, tasks |
//! | `expedited` | expedited grace periods: callers, the worker, interrupts |
//! | `syscalls` | which system call each callback comes from |
//! | `hotplug` | CPUs that go and come |
//! | `barrier` | `rcu_barrier` |
//! | `softirq` | RCU's soft interrupt, batches, and `ksoftirqd` |
//! | `idle` | the idle loop |
//! | `full` | CPUs that run without a tick (`nohz_full`) |
//! | [`idling`] | idle states, governors, the package, power |
//! | `rcu` | the engine's host: its questions and what it asks for |
//! | `sections` | readers, preempted ones among them, and context switches |
//! | `oracle` | whether anything came too early |
//! | `faults` | what goes wrong, if that is asked for |
//! | `toggle` | CPUs that are offloaded, and taken back, at run time; the shrinker |
//! | `pending` | what is still to be done, in words |
//! | `tally` | how much a run has tested |
//! | [`replay`], [`whatif`] | machines that live through what a trace has recorded; and what they show under other settings |
//! | [`torture`] | random machines under random load, with faults |
//! | `roaming` | tasks that wake up on any of some CPUs |
//! | `kthreads` | what tasks do |
//! | [`Workload`] | files that say what runs on a machine |
//! | `options` | what a machine is like |
//! | [`settings`] | the same by name, as text |
//! | [`threads`] | the other kind of machine: threads of a program that uses the library |
//! | `stats`, `notes` | what a run has shown |
//! | `look` | what a run shows while it goes on |
//! | [`report`], [`batch`] | figures of runs; many runs at once |
//! | `trace` | a run as a kernel's tracer would print it |
//! | `film` | a stretch of a run, span by span, for a picture |

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod barrier;
pub mod batch;
pub mod chance;
mod cpu;
mod error;
mod events;
mod exec;
mod expedited;
pub mod experiments;
mod faults;
mod film;
mod full;
mod hotplug;
mod idle;
pub mod idling;
mod kthreads;
mod look;
mod machine;
mod notes;
mod options;
mod oracle;
mod outside;
mod pending;
mod rcu;
pub mod replay;
pub mod report;
mod roaming;
mod sections;
pub mod settings;
mod smp;
mod softirq;
mod stats;
mod syscalls;
mod tally;
mod task;
pub mod threads;
mod toggle;
pub mod torture;
mod trace;
pub mod whatif;
mod wheel;
mod work;
mod workload;

pub use error::Error;
pub use faults::Faults;
pub use film::{Doing, Film, Span};
pub use full::FullTicks;
pub use look::{InTheWay, Live, Look, TaskLook};
pub use machine::Machine;
pub use options::{Costs, IdleLoop, MachineKind, Options, Smp};
pub use stats::{Credits, Func, GracePeriod, Held, Intervals, Stats, Synchronized, Totals};
pub use syscalls::{Name as SysCallName, Owed as SysCallback, SysCall};
pub use tally::{Point, points};
pub use task::{Op, Work};
pub use threads::{Counted, Threads, Verb};
pub use work::{
    Arrivals, Caller, Churn, Closer, Hog, Queued, Queuer, Reads, Reclaimer, Rounds, Switcher, Turns,
};
pub use workload::{Parameter, Plan, Workload};
