//! Draining: it leaves no entry, also while other threads run callbacks.

use crate::common::reclaim::{owner, owner_beside, owner_beside_registered};
use crate::common::{World, check};
use quiescent_on_explorer::check::Model as Domain;

/// The worker has extracted a callback and is running it: a drain waits for it. If its report were lost, the
/// drain would sleep for ever.
#[test]
fn a_drain_waits_for_what_the_worker_runs() {
    check("drain and worker", 2, 1, || {
        let world = owner(Domain::patient(1));
        world.call_long([0, 1]);
        world.serve_beside([], 0, |world| {
            world.domain.drain();
            world.expect_returned([0, 1]);
            assert_eq!(world.domain.held(), 0, "what a drain leaves");
        });
    });
}

/// The owner is in the middle of a destructor that it has popped. `[RUN-1]`
#[test]
fn a_drain_waits_for_what_an_owner_runs() {
    check("drain and dropping owner", 2, 1, || {
        let (world, owner) = owner_beside(Domain::patient(1), World::drop_two);
        world.begin(1);
        world.domain.drain();
        world.expect_returned([0, 1]);
        world.end_patient([owner]);
    });
}

/// Each of two drains waits for callbacks that the other one runs.
#[test]
fn two_drains() {
    check("two drains", 2, 1, || {
        let (world, other) = owner_beside_registered(Domain::patient(1), |w| {
            w.domain.drain();
            w.expect_returned([0, 1]);
        });
        world.call_long([0, 1]);
        world.begin(1);
        world.domain.drain();
        world.expect_returned([0, 1]);
        world.end_patient([other]);
    });
}

/// In a callback a drain waits for nothing, not even for callbacks that other threads run: those could be
/// waiting too.
#[test]
fn drains_in_callbacks() {
    check("drains in callbacks", 1, 1, || {
        let world = owner(Domain::patient(1));
        world.call_that_drains(0);
        world.call_that_drains(1);
        world.retire([2]);
        world.serve_beside([], 0, |world| {
            world.domain.drain();
            world.expect_all_gone();
        });
    });
}

/// A reader blocks the grace period, and the owner continues to queue.
#[test]
fn a_drain_against_an_owner_that_goes_on() {
    check("drain and owner", 1, 1, || {
        let (world, owner) = owner_beside(Domain::patient(4), |w| {
            w.retire([1]);
            w.pass_on();
            w.read_thing();
            w.retire([2]);
            w.call(3);
        });
        world.begin(1);
        world.publish(4);
        world.retire([0]);
        world.domain.drain();
        assert!(world.is_gone(0) && world.is_gone(1), "queued before it");
        world.end_patient([owner]);
    });
}
