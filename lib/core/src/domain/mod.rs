//! A domain: what waits for its readers, what it runs afterwards, and its life.
//!
//! | | files |
//! |---|---|
//! | data | `error`, `report`, `settings`, `counters`, `gate`, `tasks`, `waiters` |
//! | a domain | `state`, `life`, `env`, `host`, `registry`, `statistics` |
//! | a grace period | `driver`, `waiting`, `points`, `sections`, `stall` |
//! | deferred work | `enqueue`, `sweep`, `run`, `barrier`, `budget` |
//! | the worker | `pass` |

pub mod barrier;
pub mod budget;
pub mod counters;
pub mod driver;
pub mod enqueue;
pub mod env;
pub mod error;
pub mod gate;
pub mod host;
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
