//! Threads that do deferred work.

pub(crate) mod ended;
#[cfg(not(quiescent_model))]
pub(crate) mod helper;
pub(crate) mod overflow;
pub(crate) mod pool;
pub(crate) mod watchdog;
pub(crate) mod worker;
