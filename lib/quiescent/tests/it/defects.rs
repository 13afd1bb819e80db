//! Defects found in reviews, each with the test that fails without its fix.

mod domains;
#[cfg(target_os = "linux")]
mod forks;
mod modes;
#[cfg(target_os = "linux")]
mod slices;
mod tasks;
