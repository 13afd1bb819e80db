//! What runs on which machine, as text: settings by name, and workloads, which are files.

pub mod settings;
pub(crate) mod workload;
