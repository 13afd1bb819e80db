//! Tests of the map: one program, a module for each subject.

mod api;
mod counted;
mod drops;
#[cfg(target_os = "linux")]
mod fork;
mod model;
mod panics;
mod quiet;
mod stress;
