//! Grace periods: the engine under its lock, its driver, those who wait.

pub(crate) mod callbacks;
pub(crate) mod calls;
pub(crate) mod driven;
pub(crate) mod driver;
pub(crate) mod fences;
pub(crate) mod waiters;
pub(crate) mod waiting;
