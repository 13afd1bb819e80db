//! Calls and answers as values, so that a host can record a run.
//!
//! Every call that changes a [`Global`](crate::Global), a [`Cpu`](crate::Cpu) or a [`Barrier`](crate::barrier::Barrier)
//! has an [`Input`], and what it returns an [`Output`]. A host appends an entry *while it holds the locks that the call
//! needs*: any two calls that share state are then in the list in the order in which they were made. Who records and
//! replays is outside of the engine (package `quiescent-harness`).

mod input;

pub use input::{Answer, BarrierInput, CpuInput, ExpInput, Input, OffloadInput, Output};
