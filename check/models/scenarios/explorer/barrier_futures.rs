//! The barrier as a future: entries queued before it was made have run when it is ready, and its task is
//! woken.

use crate::common::reclaim::{owner_beside, owner_beside_registered, retired};
use crate::common::tasks::{abandon, block_on};
use crate::common::{World, check};
use quiescent_on_explorer as rcu;
use rcu::check::Model as Domain;

#[test]
fn a_task_against_the_worker() {
    check("barrier future", 2, 1, || {
        let world = retired(Domain::patient(4), [0]);
        world.call(1);
        world.serve_beside([], 0, |world| {
            block_on(rcu::barrier_async());
            world.expect_all_gone();
        });
    });
}

/// A task waits for entries queued here, beside another thread.
fn task_beside(other: fn(&World)) {
    let (world, other) = owner_beside_registered(Domain::patient(4), other);
    world.call(1);
    world.serve_beside([other], 1, |world| {
        block_on(rcu::barrier_async());
        assert!(world.is_gone(1), "queued before the future was made");
    });
}

#[test]
fn a_task_and_a_thread() {
    check("barrier future and barrier", 1, 1, || {
        task_beside(|w| {
            w.retire([0]);
            rcu::barrier();
            assert!(w.is_gone(0), "queued before the barrier");
        });
    });
}

#[test]
fn two_tasks() {
    check("two barrier futures", 1, 1, || {
        task_beside(|w| {
            w.call(0);
            block_on(rcu::barrier_async());
            assert!(w.is_gone(0), "queued before the other future was made");
        });
    });
}

/// The task that began the barrier is dropped, while others wait for the same barrier.
#[test]
fn one_that_is_dropped_half_way() {
    check("barrier future, dropped", 1, 1, || {
        task_beside(|w| {
            w.call(0);
            abandon(rcu::barrier_async());
        });
    });
}

/// The last share is finished by an owner that runs destructors itself, inside a call of the program.
#[test]
fn a_task_against_an_owner_that_runs_its_callbacks() {
    check("barrier future and dropping owner", 1, 1, || {
        let (world, owner) = owner_beside(Domain::patient(1), World::drop_two);
        world.serve_beside([owner], 1, |world| {
            block_on(rcu::barrier_async());
            world.expect_returned([0, 1]);
        });
    });
}
