//! Calls and answers as values, so that a host can record a run.
//!
//! Every call that changes a [`Global`](quiescent_kernel::Global), a [`Cpu`](quiescent_kernel::Cpu) or a
//! [`Barrier`](quiescent_kernel::barrier::Barrier) has an [`Input`], and its result an [`Output`]. A host
//! appends an entry *while it holds the locks that the call needs*: two calls that share state are then in
//! the list in the order in which they were made. A [`Recording`] keeps the host's answers to the call.

mod host;
mod input;

pub use host::{Entry, Recording};
pub use input::{Answer, BarrierInput, CpuInput, ExpInput, Input, OffloadInput, Output};
