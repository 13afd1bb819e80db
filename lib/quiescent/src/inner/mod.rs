//! What every domain is made of: the engine behind its lock, readers, queues, deferral.
//!
//! Folders are layers; each imports only those above it in this list, except as `ci/layers` records.

pub(crate) mod defer;
pub(crate) mod domain;
pub(crate) mod gp;
pub(crate) mod prim;
pub(crate) mod queue;
pub(crate) mod reader;

#[cfg(quiescent_model)]
pub mod check;
