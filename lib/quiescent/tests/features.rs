//! The tests of stall reports, with the optional features on: run by `.ci/run`.

// For `needs!`.
#[macro_use]
extern crate quiescent_core;

mod common;

mod it {
    mod stalls;
}
