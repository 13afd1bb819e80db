//! Defects that a review has found, each with the test that fails without its fix.

mod common;

#[path = "defects/slices.rs"]
mod slices;
#[path = "defects/tasks.rs"]
mod tasks;
