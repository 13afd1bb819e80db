//! Torture: threads that use `quiescent` in every way at once, and oracles that detect errors.
//!
//! | oracle | detects | where |
//! |---|---|---|
//! | pipe age | a grace period that was too short | `book::entry`, `acts::reader` |
//! | mbtest | an element found before it was initialised, or after its end | `book::entry`, `acts::reader` |
//! | memory | a block freed too early, twice or never | `book::element`, [`allocator`] |
//! | exactly once | a callback that runs twice or never | `book::entry` |
//! | barrier | a barrier that returns too early | `book::ledger` |
//! | cookies | a poll that returns true too early or too late | `acts::reader`, `acts::writer` |
//! | lateness | an entry that is never served | `watchdog` |
//! | hang | threads that make no progress | `watchdog` |
//! | forward progress | callbacks that do not run while others arrive | `acts::flood` |
//! | stalls | a stall that is not reported, or too early | `acts::stall` |
//! | children | a fork whose child does not work, or runs its parent's callbacks | `acts::forker` |
//! | isolation | a section of one `Srcu` or domain that delays another one, or the process | `acts::stall` |
//! | coverage | actors that do nothing, lazy entries that never run | `coverage` |
//!
//! `book` is the data of a run, which knows no actor; `acts` are the actors. One writer, one reader and one
//! flood are for the process, for `Srcu`s and for domains: `book::periods` is their common interface.
//!
//! Everything shared is either static or leaked with the one run of a process, so that a late reader or a
//! late callback loads a mark that shows the error, and does not crash. [`Broken`] makes the *program* misuse
//! the library, so that exactly one oracle must find it: the proof that the oracles can fail.
//!
//! A program that links this crate declares [`allocator::Watching`] as its global allocator: without it,
//! plain blocks are not checked, and every run reports leaks. The allocator checks freed blocks of an
//! element's layout, and is the system's allocator otherwise.
//!
//! A process has one run; [`campaign`] runs scenarios ([`scenario`]), each in a process ([`child`]).

#![deny(missing_docs)]

/// What each metric of a torture is; `quiescent torture --help-metrics` prints it.
pub const METRICS: &str = include_str!("metrics.txt");

mod acts;
pub mod allocator;
pub mod arguments;
mod book;
pub mod campaign;
pub mod child;
mod coverage;
mod line;
mod report;
mod run;
pub mod scenario;
mod watchdog;

pub use book::counter::{COUNTERS, Counter};
pub use book::finding::Finding;
pub use book::kind::{KINDS, Kind};
pub use book::latency::Counts;
pub use book::options::{Broken, Delays, Options};
pub use book::role::{Cast, ROLES, Role};
pub use report::{KindRow, Report};
pub use run::{Moment, run};

/// The example of the repository's README, compiled as a test: a package has a README of its own.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
pub mod readme {}
