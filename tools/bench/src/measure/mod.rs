//! How anything is measured: clocks, threads, processes, and the order in which subjects take turns. Nothing
//! here knows a subject or a case.

pub mod clock;
pub mod figures;
pub mod freed;
pub mod once;
pub mod order;
pub mod process;
pub mod threads;
