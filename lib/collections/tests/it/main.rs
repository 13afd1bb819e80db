//! Tests of the structures: one program, a module for each subject.

mod ages;
mod alone;
mod api;
mod arc;
mod conflicts;
mod counted;
mod domains;
mod drops;
mod examples;
#[cfg(target_os = "linux")]
mod fork;
mod iteration;
mod linear;
mod model;
mod panics;
mod quiet;
mod room;
mod set;
mod stress;
mod weights;
