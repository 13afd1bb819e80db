//! Actions of a CPU, and of its offload threads on its behalf: ticks, quiescent-state reports, idle CPUs with
//! callbacks, floods, the pressure on holdouts, offloaded and lazy callbacks. Each module is a heading of
//! `docs/kernel-behaviour.md`.

pub mod callbacks;
pub mod fast_no_hz;
pub mod flood;
pub mod offload;
pub(crate) mod own_cpu;
pub mod report;
pub mod tick;
pub mod urgency;
pub mod watching;
