//! Threads that start and end: other threads serve the entries that they leave, and none is lost.

use super::deeds::{Deed, LAZY, QUEUES, WAITS};
use super::{LIFE, World, check, join};
use quiescent_on_explorer::check::Model as Domain;

/// Few slots: some threads are unregistered, and queues are inherited.
const SHORT: &[Deed] = &[
    Deed::Read,
    Deed::ReadAndQueue(QUEUES),
    Deed::Update(QUEUES),
    Deed::Update(WAITS),
    Deed::Queue(LAZY, 8),
    Deed::Chain,
    Deed::Leave,
];

/// Threads that start threads, more at a time than there are slots.
#[test]
fn short_lives() {
    check("short_lives", 16, || {
        let world = World::new(Domain::living(LIFE));
        let staff = world.staff();
        let lives = [(); 3].map(|()| {
            world.thread(|| {
                for _ in 0..12 {
                    let child = world.thread(|| world.live(SHORT, 5));
                    world.live(SHORT, 3);
                    join(child);
                }
            })
        });
        world.finish(lives, staff);
    });
}

/// Almost no slots: sections of unregistered threads, nested; in the middle of some a slot becomes free.
#[test]
fn unregistered() {
    const DEEDS: &[Deed] = &[
        Deed::Read,
        Deed::Read,
        Deed::Read,
        Deed::ReadAndQueue(QUEUES),
        Deed::Update(WAITS),
        Deed::Update(WAITS),
        Deed::Leave,
    ];
    check("unregistered", 24, || {
        World::lives(Domain::living(LIFE), 4, DEEDS, 120);
    });
}

/// The worker's role moves from thread to thread, and is free for a while.
#[test]
fn workers_that_take_turns() {
    const DEEDS: &[Deed] = &[
        Deed::Update(QUEUES),
        Deed::Queue(QUEUES, 4),
        Deed::Queue(LAZY, 8),
        Deed::Chain,
        Deed::Barrier,
        Deed::Read,
        Deed::Rest,
    ];
    check("workers_that_take_turns", 16, || {
        let world = World::new(Domain::living(LIFE).leaves(2));
        let staff = world.staff_that_changes(4);
        let lives = [(); 3].map(|()| world.thread(|| world.live(DEEDS, 100)));
        world.finish(lives, staff);
    });
}

/// Only the timer wakes threads: lazy entries of threads that rest or end.
#[test]
fn lazy_and_forgotten() {
    const DEEDS: &[Deed] = &[
        Deed::Queue(LAZY, 3),
        Deed::Queue(LAZY, 3),
        Deed::Leave,
        Deed::Rest,
        Deed::DrainFor,
        Deed::FlushTimes,
        Deed::LowMemory,
        Deed::Offload,
        Deed::OffloadOwn,
    ];
    check("lazy_and_forgotten", 24, || {
        World::lives(Domain::living(LIFE), 3, DEEDS, 150);
    });
}
