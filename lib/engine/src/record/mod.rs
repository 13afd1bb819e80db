//! Calls and answers as values, so that a host can record a run.

pub mod replay;
