//! State of a [`Cpu`](crate::Cpu) and a [`Global`](crate::Global) for the policies above this folder.
//!
//! These files have data, and functions that need nothing else; decisions are in the folder with the file's
//! name.

pub(crate) mod kernel;
pub(crate) mod threads;
