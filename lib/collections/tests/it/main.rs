//! Tests of the map: one program, a module for each subject.

mod api;
mod conflicts;
mod counted;
mod domains;
mod drops;
#[cfg(target_os = "linux")]
mod fork;
mod iteration;
mod model;
mod panics;
mod quiet;
mod stress;
