//! The tests of stall reports, with the optional features on: run by `.ci/run`.

mod common;

mod it {
    mod stalls;
}
