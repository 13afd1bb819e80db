//! The barrier: entries queued before it have run when it returns.

use std::rc::Rc;

use crate::common::reclaim::{owner, owner_beside, owner_beside_registered, reclaiming, retired};
use crate::common::{World, check};
use quiescent_models::explorer::{JoinHandle, branching};
use quiescent_on_explorer as rcu;
use rcu::check::Model as Domain;

/// A barrier beside the worker, and `others`, so many of which are ready. When it returns, `holds` checks
/// what it has to cover.
fn barrier_beside<const N: usize>(
    world: &Rc<World>,
    others: [JoinHandle<()>; N],
    ready: u32,
    holds: impl FnOnce(&World),
) {
    world.serve_beside(others, ready, |world| {
        rcu::barrier();
        holds(world);
    });
}

#[test]
fn a_barrier_against_the_worker() {
    check("barrier", 2, 1, || {
        let world = retired(Domain::patient(4), [0]);
        world.call(1);
        barrier_beside(&world, [], 0, |w| w.expect_all_gone());
    });
}

/// Of three callbacks the engine learns of the first one; the others are pushed on credit. They run one by
/// one, so a barrier that covered only the first would return before the last.
#[test]
fn a_barrier_covers_what_was_pushed_on_credit() {
    check("barrier and credit", 1, 1, || {
        let world = owner(Domain::patient(4));
        (0..3).for_each(|thing| world.call(thing));
        barrier_beside(&world, [], 0, |w| w.expect_all_gone());
    });
}

#[test]
fn a_barrier_against_an_owner_that_goes_on() {
    check("barrier and owner", 1, 1, || {
        let (world, owner) = owner_beside(Domain::patient(4), |w| {
            w.retire([0]);
            w.pass_on();
            w.retire([1]);
            w.call(2);
        });
        barrier_beside(&world, [owner], 1, |w| {
            assert!(w.is_gone(0), "queued before the barrier")
        });
    });
}

/// The owner frees, by popping, some of the barrier's entries. Plain memory that it has just popped may not
/// yet be freed when the barrier returns: no code of the program depends on it.
#[test]
fn a_barrier_against_an_owner_that_pops() {
    check("barrier and pops", 1, 1, || {
        let (world, owner) = owner_beside(Domain::patient(2), |w| {
            w.retire([0, 1, 2]);
            w.pass_on();
            w.retire([3, 4]);
        });
        let worker = world.serving();
        world.begin(1);
        rcu::barrier();
        let left = (0..3).filter(|&thing| !world.is_gone(thing)).count();
        assert!(left <= 1, "a push pops one, and {left} are left");
        branching(false);
        owner.join();
        assert!((0..3).all(|thing| world.is_gone(thing)));
        worker.end(&world);
        world.finish_patient();
    });
}

#[test]
fn a_barrier_against_a_queue_that_departs() {
    check("barrier and departure", 1, 1, || {
        let (world, owner) = owner_beside(Domain::patient(4), |w| {
            w.retire([0]);
            w.call(1);
            w.pass_on();
        });
        barrier_beside(&world, [owner], 1, |w| w.expect_all_gone());
    });
}

/// A departed thread's queue, and another thread that inherits it at the same time.
#[test]
fn a_barrier_against_a_queue_that_is_inherited() {
    check("barrier and heir", 1, 1, || {
        let world = reclaiming(Domain::patient(4));
        let first = world.thread(|w| w.retire([0]));
        branching(false);
        first.join();
        let heir = world.thread(|w| w.retire([1]));
        world.domain.enter();
        barrier_beside(&world, [heir], 0, |w| {
            assert!(w.is_gone(0), "queued before the barrier")
        });
    });
}

#[test]
fn two_barriers() {
    check("two barriers", 1, 1, || {
        let (world, other) = owner_beside_registered(Domain::patient(4), |w| {
            w.retire([0]);
            rcu::barrier();
            assert!(w.is_gone(0), "queued before the other barrier");
        });
        world.call(1);
        barrier_beside(&world, [other], 1, |w| {
            assert!(w.is_gone(1), "queued before the barrier")
        });
    });
}

#[test]
fn a_barrier_waits_for_a_reader() {
    check("barrier and reader", 2, 1, || {
        let (world, reader) = owner_beside_registered(Domain::patient(4), World::read_thing);
        world.call(5);
        world.serve_beside([reader], 1, |world| {
            world.publish(1);
            world.retire([0]);
            rcu::barrier();
            world.expect_all_gone();
        });
    });
}

#[test]
fn a_barrier_in_fenced_mode() {
    check("fenced barrier", 1, 1, || {
        let (world, owner) = owner_beside_registered(Domain::patient(4).fenced(), |w| {
            w.retire([0]);
            w.call(1);
        });
        world.retire([2]);
        barrier_beside(&world, [owner], 1, |w| {
            assert!(w.is_gone(2), "queued before the barrier")
        });
    });
}

/// The owner is in the middle of a destructor that it has popped: the barrier waits for that too. `[RUN-1]`
#[test]
fn a_barrier_against_an_owner_that_runs_destructors() {
    check("barrier and dropping owner", 1, 1, || {
        let (world, owner) = owner_beside(Domain::patient(1), World::drop_two);
        barrier_beside(&world, [owner], 1, |w| w.expect_returned([0, 1]));
    });
}

/// The owner does nothing after the destructor that would report: it finds that it was asked. If it `owes`
/// the destructor, it runs that at the end of a section.
fn owner_stays(owes: bool) {
    let (world, owner) = owner_beside(Domain::patient(1), move |world| {
        let guard = rcu::read_lock();
        world.retire_long(0);
        drop(guard);
        world.pass_on();
        world.retire_code(1); // drives in passing
        let guard = owes.then(rcu::read_lock);
        world.retire_code(2); // runs the first, or owes it
        drop(guard); // runs what it owes
        world.wait_reopened();
    });
    barrier_beside(&world, [owner], 1, |w| {
        w.expect_returned([0]);
        w.reopen();
    });
}

/// The same where it runs at the end of a section what it owes. `[RUN-1]`
#[test]
fn a_barrier_against_an_owner_that_owes() {
    check("barrier and owner that owes", 1, 1, || owner_stays(true));
}

/// The same in the middle of its next action. `[RUN-1]`
#[test]
fn a_barrier_against_an_owner_that_stays() {
    check("barrier and owner that stays", 1, 1, || owner_stays(false));
}

/// The worker runs long callbacks, and the barrier comes in the middle of one.
#[test]
fn a_barrier_against_a_callback_that_runs() {
    check("barrier and running callback", 2, 1, || {
        let world = owner(Domain::patient(1));
        world.call_long([0, 1]);
        barrier_beside(&world, [], 0, |w| w.expect_returned([0, 1]));
    });
}

/// A callback that always queues itself again delays neither a barrier nor the queues that are visited after
/// its own.
#[test]
fn a_barrier_against_a_callback_that_queues_itself() {
    check("barrier and again", 1, 1, || {
        let world = reclaiming(Domain::patient(4));
        let worker = world.serving_registered();
        world.domain.enter();
        world.ready(1);
        world.call_again_and_again();
        world.call_long([0]);
        rcu::barrier();
        world.expect_returned([0]);
        branching(false);
        world.reopen();
        worker.end(&world);
        world.finish_patient();
    });
}

/// The queue's owner ends while a worker visits the queue, with every entry freed or none.
#[test]
fn a_barrier_against_an_inline_owner_that_ends() {
    check("barrier and inline exit", 1, 1, || {
        let (world, owner) = owner_beside(Domain::patient(1).inline(), |w| {
            w.call_long([0]);
            w.retire([1]);
            w.pass_on();
            w.call_long([2]);
        });
        barrier_beside(&world, [owner], 1, |w| {
            w.expect_returned([0]);
            assert!(w.is_gone(1), "queued before the barrier");
        });
    });
}
