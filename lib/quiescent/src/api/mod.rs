//! The public API: one file for each type or family of functions. These modules decide and drive nothing;
//! they call the layers below, handles ([`handle`]) lead to a domain of these.

pub(crate) mod cell;
pub(crate) mod cookie;
pub(crate) mod domain;
#[cfg(feature = "foreign")]
pub mod foreign;
pub(crate) mod future;
#[cfg(not(quiescent_model))]
pub(crate) mod guarantees;
pub(crate) mod guard;
#[cfg(not(quiescent_model))]
pub mod guide;
pub(crate) mod handle;
pub(crate) mod held;
pub(crate) mod home;
pub mod intrusive;
pub(crate) mod kind;
mod queueing;
#[cfg(not(quiescent_model))]
#[doc = include_str!("limitations.md")]
pub mod limitations {}
pub(crate) mod list;
pub(crate) mod option;
pub(crate) mod options;
pub(crate) mod ptr;
pub mod report;
pub(crate) mod retired;
pub(crate) mod shared;
#[cfg(not(quiescent_model))]
pub(crate) mod shutdown;
pub(crate) mod srcu;
#[cfg(feature = "telemetry")]
pub mod telemetry;
pub(crate) mod thread_index;
pub mod tuning;
pub mod unchecked;
mod updates;
pub(crate) mod weigh;
