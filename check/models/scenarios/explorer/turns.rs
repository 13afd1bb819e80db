//! Two workers: the overflow worker runs callbacks beside the first one. At most one of them serves a queue
//! at a time, so that its order is kept, and no entry is lost between the two.

use crate::common::reclaim::owner;
use crate::common::{check, join_all};
use quiescent_on_explorer as rcu;
use rcu::check::Model as Domain;

/// All callbacks are ready when both workers come: the first one serves the queue alone.
#[test]
fn two_workers_at_one_queue() {
    check("two workers, one queue", 2, 1, || {
        let world = owner(Domain::patient(4));
        world.call_in_turn(0);
        world.call_in_turn(1);
        rcu::synchronize();
        let workers = [world.worker(1), world.second()];
        world.begin(0);
        join_all(workers);
        world.finish_patient();
    });
}

/// The worker skips entries queued during the overflow worker's turn; the overflow worker kicks it when it
/// rests. Deadlines are switched off.
#[test]
fn what_the_worker_passes_by_is_not_forgotten() {
    check("passed by", 1, 1, || {
        let world = owner(Domain::patient(4));
        world.call_in_turn(0);
        rcu::synchronize();
        let second = world.second();
        world.serve_beside([second], 0, |world| {
            world.call_in_turn_hurry(1);
            world.await_gone(1);
        });
    });
}

/// A barrier waits for callbacks of both workers.
#[test]
fn a_barrier_beside_two_workers() {
    check("barrier, two workers", 1, 1, || {
        let world = owner(Domain::patient(4));
        world.call_long([0, 1]);
        rcu::synchronize();
        let second = world.second();
        world.serve_beside([second], 0, |world| {
            rcu::barrier();
            world.expect_returned([0, 1]);
        });
    });
}
