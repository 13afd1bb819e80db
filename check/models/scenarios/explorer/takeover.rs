//! A queue's owner against a taker: pushes and pops with plain stores, while a sweep takes everything.

use crate::common::check;
use crate::common::reclaim::{owner, retired};
use quiescent_on_explorer as rcu;
use rcu::check::Model as Domain;

#[test]
fn pushes_against_a_take_over() {
    check("push", 2, 2, || {
        let world = retired(Domain::deferring(4), [0]); // the slow path; from here on the owner has credit
        world.beside_worker(|world| world.retire([1]));
    });
}

/// If the owner takes the lock in the middle of the takeover, it leaves with new credit.
#[test]
fn pushes_after_the_owner_interrupted_a_take_over() {
    check("push on", 2, 1, || {
        let world = retired(Domain::deferring(4), [0]);
        world.beside_worker(|world| world.retire([1, 2]));
    });
}

#[test]
fn pops_against_a_take_over() {
    check("pop", 2, 1, || {
        let world = retired(Domain::deferring(2), [0, 1]); // a batch, and its grace period
        world.beside_worker(|world| world.retire([2, 3]));
    });
}

/// With many entries ready, a push pops two; and the queue has more than one block of them.
#[test]
fn pops_by_twos_against_a_take_over() {
    check("pop two", 2, 1, || {
        let world = owner(Domain::deferring(1));
        let guard = rcu::read_lock();
        world.retire(0..5);
        drop(guard);
        world.retire([5]); // five are ready now
        world.beside_worker(|world| world.retire([6, 7]));
    });
}

/// The owner has a queue, but no block for this lane yet: its first push is refused.
#[test]
fn the_first_push_of_a_lane_against_a_take_over() {
    check("first of a lane", 2, 1, || {
        let world = owner(Domain::deferring(4));
        world.call(0);
        world.beside_worker(|world| world.retire([1]));
    });
}

/// Both lanes of a queue, each at the end of a block.
#[test]
fn both_lanes_against_a_take_over() {
    check("both lanes", 2, 1, || {
        let world = retired(Domain::deferring(4), [0]);
        world.call(1);
        world.beside_worker(|world| {
            world.retire_code(2);
            world.retire([3]);
            world.call(4);
        });
    });
}

#[test]
fn an_owner_that_hurries_against_a_take_over() {
    check("hurry", 2, 1, || {
        retired(Domain::deferring(4), [0]).beside_worker(|world| {
            world.retire_hurry(1);
            world.retire([2]);
        });
    });
}

#[test]
fn an_owner_that_ends_during_a_take_over() {
    check("exit", 2, 1, || {
        retired(Domain::deferring(2), [0, 1]).beside_worker(|world| {
            world.retire([2]);
            world.domain.leave();
        });
    });
}

/// The next thread inherits slot and queue, with its entries in any state.
#[test]
fn a_queue_is_inherited_during_a_take_over() {
    check("inherited", 2, 1, || {
        retired(Domain::deferring(2), [0, 1, 2]).beside_worker(|world| {
            world.domain.leave();
            world.domain.enter(); // as another thread
            world.retire([3, 4]);
        });
    });
}

#[test]
fn two_sweeps_at_once() {
    check("two sweeps", 2, 1, || {
        let world = retired(Domain::deferring(4), [0]);
        world.call(1);
        let worker = world.worker(1);
        let drainer = world.thread(|w| w.domain.drain());
        world.begin(0);
        world.retire([2]);
        world.end([worker, drainer]);
    });
}

#[test]
fn two_owners_and_one_sweep() {
    check("two owners", 1, 1, || {
        let world = retired(Domain::deferring(2), [0]);
        let other = world.thread(|w| {
            w.retire([1]);
            w.retire([2]);
        });
        let worker = world.worker(1);
        world.begin(0);
        world.retire([3]);
        world.end([worker, other]);
    });
}

/// A queue that is not due is emptied because another thread's grace period has made it ready, while its
/// owner still has credit.
#[test]
fn a_queue_that_was_not_taken_is_emptied() {
    check("emptied in passing", 2, 1, || {
        let world = owner(Domain::patient(2));
        let guard = rcu::read_lock();
        world.call(0);
        world.call(1); // a batch: waits for a grace period that no thread drives
        drop(guard);
        let other = world.thread(|w| w.retire_hurry(2));
        let worker = world.worker(1);
        world.begin(0);
        world.call(3); // within the credit
        world.end_patient([worker, other]);
    });
}

/// In fenced mode there is no credit to take over: every push takes the lock.
#[test]
fn pushes_in_fenced_mode_against_a_sweep() {
    check("fenced pushes", 2, 1, || {
        retired(Domain::deferring(2).fenced(), [0]).beside_worker(|world| {
            world.retire([1, 2]);
            world.call(3);
            world.retire_code(4);
            world.domain.leave();
        });
    });
}

/// The queue returns all its blocks, possibly between two steps of a takeover; and the next owner starts
/// without one.
#[test]
fn an_owner_that_ends_with_nothing_left() {
    check("empty exit", 2, 1, || {
        let world = retired(Domain::deferring(1), [0, 1]); // a batch each, and freed by the next
        world.beside_worker(|world| {
            world.domain.leave();
            world.domain.enter(); // as another thread
            world.call(2);
            world.retire([3]);
        });
    });
}

/// An owner that runs its callbacks ends while a taker runs them too.
#[test]
fn an_inline_owner_that_ends_during_a_take_over() {
    check("inline exit", 2, 1, || {
        let world = owner(Domain::deferring(1).inline());
        let guard = rcu::read_lock();
        world.call_long([0, 1]);
        drop(guard);
        world.beside_worker(|world| {
            world.call_long([2]);
            world.domain.leave();
        });
    });
}
