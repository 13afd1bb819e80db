//! Bytes to the engine's events, under the oracle of the exhaustive search.
//!
//! The first byte picks a machine, each other byte one of the actions that are possible then: readers,
//! requests, arrivals, departures, single steps of the driver. After each action the rules of
//! `check/harness/src/search/oracle.rs` are checked, first of all that no grace period ends before a section
//! that was open when it began; in the end every request must be satisfied. The search's own random paths are
//! the same with arbitrary bytes; here paths that reach a new branch of the engine are kept and varied.

#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use quiescent_harness::search::{explore, table};

fuzz_target!(|bytes: &[u8]| -> Corpus {
    let Some((&which, bytes)) = bytes.split_first() else {
        return Corpus::Reject;
    };
    let machines = table::walks();
    let machine = &machines[usize::from(which) % machines.len()];
    match explore::walk(machine, bytes) {
        Ok(_) => Corpus::Keep,
        Err(rule) => panic!("{rule}"),
    }
});
