//! Torture: threads that use `quiescent` in every way at once, and oracles that notice when it is wrong.
//!
//! | oracle | notices | where |
//! |---|---|---|
//! | pipe age | a grace period that was too short | [`entry`], [`reader`] |
//! | mbtest | an element found before it was fit, or after | [`entry`], [`reader`] |
//! | memory | a block freed too early, twice or never | [`element`], [`allocator`] |
//! | exactly once | a callback that runs twice or never | [`entry`] |
//! | barrier | a barrier that returns too early | [`ledger`] |
//! | cookies | a poll that says yes too early or too late | [`reader`], [`writer`] |
//! | lateness | something queued that nobody comes for | [`watchdog`] |
//! | hang | threads that make no progress | [`watchdog`] |
//! | forward progress | callbacks that do not run while others come | `flood` |
//! | stalls | a stall that is not reported, or too early | `stall` |
//! | children | a fork whose child does not work, or runs what is its parent's | `forker` |
//! | isolation | a stalled section of one `Srcu` or domain that holds up another one, or the process | `own_stall` |
//! | coverage | actors that do nothing, laziness that is never exercised | `coverage` |
//!
//! Everything shared is either static or leaked with the one run of a process, so that a late reader or
//! a late callback meets memory that says what is wrong, and not a crash. [`Broken`] makes the *program*
//! misuse the library, one oracle at a time: the proof that they can fail.
//!
//! A program that links it has [`allocator::Watching`] as its global allocator: without it, nothing is known of
//! plain blocks, and every run leaks. It compares the shape of what is freed, and is the system's allocator else.
//!
//! A process has one run; [`campaign`] runs scenarios ([`scenario`]), a process each ([`child`]).

#![deny(missing_docs)]

pub mod allocator;
mod callback;
pub mod campaign;
pub mod child;
mod churn;
mod counter;
mod coverage;
mod domain_policy;
mod domain_reader;
pub mod element;
pub mod entry;
mod events;
mod fake;
pub mod finding;
mod flood;
mod forker;
mod hand;
pub mod kept;
mod kind;
mod latency;
pub mod ledger;
mod line;
mod numbers;
mod options;
mod own_maker;
mod own_stall;
mod own_writer;
pub mod periods;
pub mod plot;
mod pool;
pub mod reader;
mod report;
mod role;
mod run;
pub mod scenario;
mod srcu_reader;
mod srcu_task;
mod stall;
mod storm;
mod tune;
mod waiter;
mod waking;
pub mod watchdog;
mod world;
pub mod writer;

pub use counter::{COUNTERS, Counter};
pub use finding::Finding;
pub use kind::{KINDS, Kind};
pub use latency::Counts;
pub use options::{Broken, Delays, Options};
pub use report::{KindRow, Report};
pub use role::{Cast, ROLES, Role};
pub use run::{Moment, run};
