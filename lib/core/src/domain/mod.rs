//! A domain: what waits for its readers, what it runs afterwards, and its life.
//!
//! | | files |
//! |---|---|
//! | data | `life`, `state`, `settings`, `registry`, `env`, `host`, `report`, `statistics`, `error` |
//! | a grace period | `driver`, `waiting`, `waiters`, `points`, `sections`, `stall` |
//! | deferred work | `enqueue`, `in_place`, `sweep`, `run`, `barrier`, `tasks`, `budget` |
//! | the worker | `pass`, `drain` |

pub mod barrier;
pub mod budget;
pub mod drain;
pub mod driver;
pub mod enqueue;
pub mod env;
pub mod error;
pub mod host;
pub mod in_place;
pub mod life;
pub mod pass;
pub mod points;
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
