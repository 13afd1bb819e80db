//! What a user names: one file a type or a family of functions. Nothing in here decides or drives anything; it calls the layers below.

pub(crate) mod barrier_future;
pub(crate) mod call;
pub(crate) mod cell;
pub(crate) mod domain;
pub(crate) mod error;
#[cfg(not(quiescent_model))]
pub(crate) mod future;
pub(crate) mod ground;
pub(crate) mod guard;
#[cfg(not(quiescent_model))]
pub mod guide;
#[cfg(not(quiescent_model))]
#[doc = include_str!("limitations.md")]
pub mod limitations {}
pub(crate) mod list;
pub(crate) mod options;
pub(crate) mod ptr;
pub(crate) mod refused;
pub(crate) mod report;
pub(crate) mod retire;
pub(crate) mod retired;
pub(crate) mod srcu;
pub(crate) mod statistics;
pub(crate) mod tuning;
pub(crate) mod wait;
