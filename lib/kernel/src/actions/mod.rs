//! Actions of a kernel's CPU, and of its offload threads on its behalf.
//!
//! Only the machine model runs this: ticks, quiescent-state reports, idle CPUs with callbacks, floods,
//! the pressure on holdouts, offloaded and lazy callbacks. `docs/kernel-behaviour.md` states the behaviour of
//! Linux that this follows; each module is a heading there.

pub mod callbacks;
pub mod fast_no_hz;
pub mod flood;
pub mod offload;
pub(crate) mod own_cpu;
pub mod report;
pub mod tick;
pub mod urgency;
pub mod watching;
