//! A domain: what waits for its readers, what it runs afterwards, and its life.
//!
//! | | files |
//! |---|---|
//! | data | `life`, `state`, `settings`, `list`, `env`, `host`, `report`, `counters`, `statistics` |
//! | a grace period | `driver`, `waiting`, `waiters`, `points`, `readers`, `sections`, `stall` |
//! | deferred work | `enqueue`, `in_place`, `sweep`, `run`, `barrier`, `tasks`, `budget` |
//! | the worker | `pass`, `drain`, `pressure` |

pub mod barrier;
pub mod budget;
pub mod counters;
pub mod drain;
pub mod driver;
pub mod enqueue;
pub mod env;
pub mod error;
pub mod fullness;
pub mod host;
pub mod in_place;
pub mod inspect;
pub mod life;
pub mod list;
pub mod pass;
pub mod points;
pub mod pressure;
pub mod process;
pub mod readers;
#[cfg(not(quiescent_model))]
pub mod registry;
pub mod report;
pub mod run;
pub mod sections;
pub mod settings;
pub mod stall;
pub mod state;
pub mod statistics;
pub mod sweep;
pub mod tasks;
pub mod waiters;
pub mod waiting;

#[cfg(all(test, not(quiescent_model)))]
mod tests;
