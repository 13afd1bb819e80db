//! State of a [`Cpu`](crate::Cpu) and a [`Global`](crate::Global) for the policies above this folder.
//!
//! Data, and functions that need nothing else; other decisions are in the folder that the file is named
//! after.

pub(crate) mod kernel;
pub(crate) mod threads;
