//! Programs that were written against crossbeam-epoch: they name it, and get this crate.

// A program that uses crossbeam-epoch promises what its calls ask for; these are short.
#![allow(clippy::undocumented_unsafe_blocks)]

extern crate quiescent_epoch as crossbeam_epoch;

mod guards;
mod pointers;
mod structures;
