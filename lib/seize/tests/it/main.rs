//! Programs that were written against seize: they name it, and get this crate.

// A program that uses seize promises what its calls ask for; these are short.
#![allow(clippy::undocumented_unsafe_blocks)]

extern crate quiescent_seize as seize;

mod collectors;
mod list;
mod places;
