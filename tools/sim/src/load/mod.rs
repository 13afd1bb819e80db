//! Loads and machines as text: settings by name, and workloads, which are files.

pub mod settings;
pub(crate) mod workload;
