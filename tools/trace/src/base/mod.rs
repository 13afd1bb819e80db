//! What all layers use: errors, counted faults, sets of CPUs, distributions, names of threads.

mod cpuset;
pub(crate) mod dist;
mod error;
mod faults;
pub(crate) mod map;
pub(crate) mod names;

pub use cpuset::CpuSet;
pub use dist::{Distribution, Percentiles};
pub use error::Error;
pub use faults::{Fault, Faults, LINE_MOST, Malformed};
pub use names::{Role, kind_of, role};
