//! Runs near the budget, with two workers, and with drivers that stop.

use super::deeds::{Deed, LAZY, QUEUES, WAITS, Way};
use super::{LIFE, World, check};
use quiescent_on_explorer::check::{Life, Model as Domain};

fn lives(deeds: &'static [Deed], times: u32, domain: Domain) {
    World::lives(domain.leaves(2), 4, deeds, times);
}

/// Objects are refused or waited for, and the budget changes meanwhile. At the end nothing is counted.
#[test]
fn budgets() {
    const DEEDS: &[Deed] = &[
        Deed::Update(&[Way::Try, Way::Wait]),
        Deed::Queue(&[Way::Try], 12),
        Deed::Queue(&[Way::Wait], 4),
        Deed::Queue(QUEUES, 8),
        Deed::Queue(LAZY, 16),
        Deed::Read,
        Deed::Budget,
        Deed::Leave,
        Deed::Offload,
    ];
    check("budgets", 8, || lives(DEEDS, 80, Domain::living(LIFE)));
}

/// Callbacks of one thread run one after the other, whichever thread runs them.
#[test]
fn two_workers() {
    const DEEDS: &[Deed] = &[
        Deed::InTurn,
        Deed::InTurn,
        Deed::InTurn,
        Deed::InTurn,
        Deed::InTurn,
        Deed::Queue(QUEUES, 6),
        Deed::Read,
        Deed::Rest,
        Deed::Barrier,
    ];
    check("two_workers", 12, || {
        lives(DEEDS, 100, Domain::living(LIFE));
    });
}

const WAITERS: &[Deed] = &[
    Deed::Read,
    Deed::Read,
    Deed::Update(WAITS),
    Deed::Update(WAITS),
    Deed::Update(QUEUES),
    Deed::Queue(&[Way::RetireHurry, Way::CallHurry], 2),
    Deed::Leave,
];

/// Drivers that make no call lose their role at once: grace periods change drivers all the time.
#[test]
fn drivers_that_stop() {
    const HASTY: Life = Life {
        takeover_after_ns: Some(300),
        ..LIFE
    };
    check("drivers_that_stop", 16, || {
        lives(WAITERS, 80, Domain::living(HASTY));
    });
}

/// No thread takes a role without a hand-over: a driver that leaves without one leaves the others asleep for
/// ever. Lives are short, so that soon no other driver comes.
#[test]
fn drivers_that_hand_over() {
    const DEEDS: &[Deed] = &[Deed::Read, Deed::Update(WAITS)];
    const PATIENT: Life = Life {
        takeover_after_ns: None,
        ..LIFE
    };
    check("drivers_that_hand_over", 300, || {
        lives(DEEDS, 6, Domain::living(PATIENT));
    });
}
