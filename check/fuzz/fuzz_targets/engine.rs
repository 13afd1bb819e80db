//! Bytes to the engine's events, under the oracle of the exhaustive search.
//!
//! The first byte picks a machine, each other one of the actions that are possible then: readers, requests, arrivals,
//! departures, single steps of the driver. After each the rules of `lib/engine/tests/search/oracle.rs` are looked at, first
//! of all that no grace period ends before a section that was open when it began; in the end everybody has to be satisfied.
//! Machine, actions and rules are the sources of that test, not a copy. Its own random walks are the same with bytes that nobody chose;
//! here those that reach a new branch of the engine are kept and changed further.

#![no_main]
// The search has more than a walk needs.
#![allow(dead_code)]

#[path = "../../../lib/engine/tests/search/actions.rs"]
mod actions;
#[path = "../../../lib/engine/tests/search/apply.rs"]
mod apply;
#[path = "../../../lib/engine/tests/search/bounds.rs"]
mod bounds;
#[path = "../../../lib/engine/tests/search/drive.rs"]
mod drive;
#[path = "../../../lib/engine/tests/search/expedited.rs"]
mod expedited;
#[path = "../../../lib/engine/tests/search/explore.rs"]
mod explore;
#[path = "../../../lib/engine/tests/search/large.rs"]
mod large;
#[path = "../../../lib/engine/tests/search/marks.rs"]
mod marks;
#[path = "../../../lib/engine/tests/search/model.rs"]
mod model;
#[path = "../../../lib/engine/tests/search/notice.rs"]
mod notice;
#[path = "../../../lib/engine/tests/search/oracle.rs"]
mod oracle;
#[path = "../../../lib/engine/tests/search/tasks.rs"]
mod tasks;
#[path = "../../../lib/engine/tests/search/usurp.rs"]
mod usurp;

use libfuzzer_sys::{Corpus, fuzz_target};

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
