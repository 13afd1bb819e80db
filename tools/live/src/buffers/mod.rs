//! Trace buffers of our own in the running kernel, removed at every kind of exit: a recording, and live
//! counts.

mod activity;
mod clean;
mod counters;
pub mod events;
mod instance;
mod lines;
mod mount;
mod probes;
pub mod record;
mod sorted;

pub use activity::{Activity, Rung, softirqs};
pub use clean::{Cleaned, clean};
pub use counters::{Counters, FunctionCounters};
pub use instance::Probed;
pub use mount::tracing;
