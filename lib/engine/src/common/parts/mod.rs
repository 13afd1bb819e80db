//! What a [`Cpu`](crate::Cpu) and a [`Global`](crate::Global) keep for the policies above this folder.
//!
//! Data and what is said of it alone; each decision that needs more is in the folder that the file is named after.

pub(crate) mod kernel;
pub(crate) mod threads;
