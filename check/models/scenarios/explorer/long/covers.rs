//! Barriers and drains: the entries that they cover have run, whichever thread runs them and whichever has
//! queued them.

use super::deeds::{Deed, LAZY, QUEUES};
use super::{LIFE, World, check};
use quiescent_on_explorer::check::Model as Domain;

fn lives(deeds: &'static [Deed], domain: Domain) {
    World::lives(domain.leaves(2), 4, deeds, 80);
}

#[test]
fn barriers() {
    const DEEDS: &[Deed] = &[
        Deed::Barrier,
        Deed::Barrier,
        Deed::Queue(QUEUES, 3),
        Deed::Queue(LAZY, 5),
        Deed::ReadAndQueue(QUEUES),
        Deed::Chain,
        Deed::Leave,
    ];
    check("barriers", 12, || lives(DEEDS, Domain::living(LIFE)));
}

/// The program sometimes runs its code itself, and drains the domain.
#[test]
fn drains() {
    const DEEDS: &[Deed] = &[
        Deed::Drain,
        Deed::DrainFor,
        Deed::DrainReady,
        Deed::DrainReady,
        Deed::Drained,
        Deed::Queue(QUEUES, 4),
        Deed::Queue(LAZY, 6),
        Deed::Update(QUEUES),
        Deed::Read,
        Deed::Chain,
        Deed::Leave,
        Deed::Rest,
    ];
    check("drains", 12, || lives(DEEDS, Domain::living(LIFE)));
}
