//! Grace periods: the engine under its lock, its driver, its waiters.

pub mod driver;
pub mod stalls;
pub mod waiting;

#[cfg(all(test, not(quiescent_model)))]
mod tests;
