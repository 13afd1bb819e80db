//! Deferred work: queueing, running in place, sweeping, running, barriers, the budget.

pub mod barrier;
pub mod budget;
pub mod enqueue;
pub mod in_place;
pub mod run;
pub mod sweep;
pub mod turns;

#[cfg(all(test, not(quiescent_model)))]
mod tests;
