//! Bytes to operations on two callback lists, compared after each with a model without segments.

#![no_main]

use libfuzzer_sys::fuzz_target;
use quiescent_harness::models::cblist;

fuzz_target!(|bytes: &[u8]| {
    let actions: Vec<_> = bytes
        .chunks_exact(3)
        .map(|it| (it[0], it[1], it[2]))
        .collect();
    if let Err(difference) = cblist::run(&actions) {
        panic!("{difference}");
    }
});
