//! Trace buffers of our own in the running kernel, removed whatever happens: a record of what the kernel
//! does, and counts of what it does now.

mod activity;
mod counters;
pub mod events;
mod instance;
mod mount;
pub mod record;
mod sorted;

pub use activity::{Activity, Rung, softirqs};
pub use counters::{Counters, FunctionCounters};
pub use mount::tracing;
