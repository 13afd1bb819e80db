//! The policy of the thread host: credit, batches, budget, worker pool, memory pressure, counted readers.

pub mod batch;
pub mod budget;
pub mod credit;
pub mod indexed;
pub mod owner;
pub mod pool;
pub mod pressure;
