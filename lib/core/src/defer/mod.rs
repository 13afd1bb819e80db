//! Deferred work: queueing, sweeping, running, barriers, the budget.

pub mod barrier;
pub mod budget;
pub mod enqueue;
pub mod run;
pub mod sweep;
pub mod turns;
