//! Deferred work: queueing, sweeping, running, barriers, the budget.

pub(crate) mod barrier;
pub(crate) mod budget;
pub(crate) mod enqueue;
pub(crate) mod laziness;
pub(crate) mod run;
pub(crate) mod sweep;
pub(crate) mod tasks;
