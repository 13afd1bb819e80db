//! Programs that were written against crossbeam-epoch: they name it, and get this crate.

extern crate quiescent_epoch as crossbeam_epoch;

mod guards;
mod pointers;
mod structures;
