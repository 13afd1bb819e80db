//! Torture: threads that use `quiescent` in every way at once, and oracles that notice when it is wrong.
//!
//! | oracle | notices | where |
//! |---|---|---|
//! | pipe age | a grace period that was too short | [`entry`], [`reader`] |
//! | memory | a block freed too early, twice or never | [`element`], [`allocator`] |
//! | exactly once | a callback that runs twice or never | [`entry`] |
//! | barrier | a barrier that returns too early | [`ledger`] |
//! | cookies | a poll that says yes too early or too late | [`reader`], [`writer`] |
//! | lateness | something queued that nobody comes for | [`watchdog`] |
//! | hang | threads that make no progress | [`watchdog`] |
//!
//! Everything shared is either static or leaked with the one run of a process, so that a late reader or
//! a late callback meets memory that says what is wrong, and not a crash. [`Broken`] makes the *program*
//! misuse the library, one oracle at a time: the proof that they can fail.
//!
//! This library brings its own global allocator ([`allocator`]); link it to nothing else.

#![deny(missing_docs)]

pub mod allocator;
mod callback;
mod churn;
pub mod element;
pub mod entry;
pub mod finding;
mod hand;
mod kind;
pub mod ledger;
mod numbers;
mod options;
pub mod reader;
mod report;
mod run;
mod storm;
mod waiter;
pub mod watchdog;
mod world;
pub mod writer;

pub use finding::Finding;
pub use kind::{KINDS, Kind};
pub use options::{Broken, Options};
pub use report::Report;
pub use run::run;
