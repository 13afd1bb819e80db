//! The actors: what the threads of a run do.

pub mod callback;
pub mod churn;
pub mod dropper;
pub mod flood;
pub mod forker;
pub mod maker;
mod pool;
pub mod reader;
pub mod stall;
pub mod storm;
pub mod task;
pub mod tune;
pub mod waiting_threads;
pub mod writer;
