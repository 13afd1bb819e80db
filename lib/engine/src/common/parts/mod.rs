//! State of a [`Cpu`](crate::Cpu) and a [`Global`](crate::Global) for the policies above this folder.
//!
//! This file has data, and functions that need nothing else; decisions are in the folder with the name of the
//! part.

pub(crate) mod threads;
