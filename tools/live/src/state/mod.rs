//! Facts from files below a root: configuration, command line, CPUs, threads, tracing; all of it read once
//! into a [`Machine`].

pub(crate) mod btf;
pub(crate) mod cpus;
pub mod files;
pub(crate) mod machine;
pub(crate) mod task;
pub(crate) mod tracefs;
pub(crate) mod version;

pub use cpus::listed;
pub use machine::{Machine, coarse_tick_ns};
pub use task::Task;
pub use tracefs::Place;
pub use version::Version;
