//! What all layers use: errors, counted faults, sets of CPUs, distributions, names of threads, what waits,
//! protobuf's wire format, text that is made from something else.

pub(crate) mod bytes;
mod cpuset;
pub(crate) mod dist;
mod error;
mod faults;
pub(crate) mod made;
pub(crate) mod map;
pub(crate) mod names;
pub(crate) mod waiting;
pub(crate) mod wire;

pub use cpuset::CpuSet;
pub use dist::{Distribution, Percentiles};
pub(crate) use error::CUT;
pub use error::Error;
pub use faults::{Fault, Faults, LINE_MOST, Malformed};
pub use names::{Role, kind_of, role};
