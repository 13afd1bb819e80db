//! Operations on a domain as a whole: its life, the slow paths of its sections, the worker's passes.

pub mod drain;
pub mod lives;
pub mod pass;
pub mod points;
pub mod pressure;
pub mod process;
pub mod readers;
#[cfg(not(quiescent_model))]
pub mod registry;
pub mod sections;
pub mod tuning;

#[cfg(all(test, not(quiescent_model)))]
mod tests;
