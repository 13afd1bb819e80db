//! The process's singletons: its domain, thread-locals, thread exit, fork.

#[cfg(feature = "fork")]
pub(crate) mod fork;
#[cfg(quiescent_model)]
#[path = "../../../../check/models/inside/quiescent/model.rs"]
mod model;
#[cfg(not(quiescent_model))]
mod process;
pub mod section;
#[cfg(not(quiescent_model))]
pub(crate) mod thread_exit;
#[cfg(not(quiescent_model))]
pub(crate) mod workers;
#[cfg(not(quiescent_model))]
pub(crate) mod write_lock;

#[cfg(quiescent_model)]
pub(crate) use model::{Process, config, env, found, home, local, stalls, with_local, write_lock};
#[cfg(not(quiescent_model))]
pub use process::{env, home, local, with_local};
