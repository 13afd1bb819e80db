//! Threads that use every feature of the library at once.

use super::deeds::{Deed, LAZY, QUEUES, WAITS, Way};
use super::{LIFE, World, check};
use quiescent_on_explorer::check::Model as Domain;

const ALL: &[Deed] = &[
    Deed::Read,
    Deed::Read,
    Deed::ReadAndQueue(QUEUES),
    Deed::Update(WAITS),
    Deed::Update(QUEUES),
    Deed::Update(QUEUES),
    Deed::Queue(QUEUES, 6),
    Deed::Queue(LAZY, 12),
    Deed::Chain,
    Deed::Barrier,
    Deed::Drain,
    Deed::DrainFor,
    Deed::Leave,
    Deed::Rest,
    Deed::Offload,
    Deed::OffloadOwn,
    Deed::FlushTimes,
    Deed::LowMemory,
    Deed::Budget,
    Deed::Update(&[Way::Try, Way::Wait]),
];

fn three_lives(domain: Domain) {
    World::lives(domain.leaves(2), 3, ALL, 120);
}

#[test]
fn whole_lives() {
    check("whole_lives", 16, || three_lives(Domain::living(LIFE)));
}

#[test]
fn whole_lives_in_fenced_mode() {
    check("whole_lives_in_fenced_mode", 8, || {
        three_lives(Domain::living(LIFE).fenced());
    });
}

/// Owners run their callbacks themselves, beside the worker.
#[test]
fn whole_lives_of_inline_owners() {
    check("whole_lives_of_inline_owners", 8, || {
        three_lives(Domain::living(LIFE).inline());
    });
}
