//! Bytes to the engine's events, under the oracle of the exhaustive search.
//!
//! The first byte picks a machine, each other one of the actions that are possible then: readers, requests,
//! arrivals, departures, single steps of the driver. After each the rules of
//! `check/harness/src/search/oracle.rs` are checked, first of all that no grace period ends before a section
//! that was open when it began; in the end everybody has to be satisfied. The search's own random walks are
//! the same with arbitrary bytes; here those that reach a new branch of the engine are kept and changed
//! further.

#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use quiescent_harness::search::{explore, large};

fuzz_target!(|bytes: &[u8]| -> Corpus {
    let Some((&which, bytes)) = bytes.split_first() else {
        return Corpus::Reject;
    };
    let machines = large::walks();
    let machine = &machines[usize::from(which) % machines.len()];
    match explore::walk(machine, bytes) {
        Ok(_) => Corpus::Keep,
        Err(rule) => panic!("{rule}"),
    }
});
