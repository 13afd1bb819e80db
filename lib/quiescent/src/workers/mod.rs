//! Threads that do deferred work.

pub(crate) mod ended;
pub(crate) mod overflow;
pub(crate) mod pool;
pub(crate) mod watchdog;
pub(crate) mod worker;
