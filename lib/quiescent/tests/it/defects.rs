//! Defects that a review has found, each with the test that fails without its fix.

mod slices;
mod tasks;
