//! Readers beside retiring threads, callbacks of every kind, and wake-ups of the worker.

use crate::common::reclaim::{owner, owner_beside_registered, reclaiming, retired};
use crate::common::{World, check, join_all};
use quiescent_models::explorer::Ordering::Relaxed;
use quiescent_models::explorer::branching;
use quiescent_on_explorer as rcu;
use rcu::check::Model as Domain;

/// The published object is replaced and retired, and the thread retires more: it pops other objects than the
/// one that the reader uses.
#[test]
fn a_reader_against_an_owner_that_frees() {
    check("reader", 2, 1, || {
        let (world, reader) = owner_beside_registered(Domain::deferring(1), World::read_thing);
        world.retire([5]);
        world.begin(1);
        world.publish(1);
        world.retire([0]);
        world.retire([2, 3]);
        world.end([reader]);
    });
}

/// The calling thread does `first` before the scenario begins, and `deeds` beside a reader and a worker.
fn beside_reader_and_worker(
    domain: Domain,
    reader: fn(&World),
    first: fn(&World),
    deeds: fn(&World),
) {
    let (world, reader) = owner_beside_registered(domain, reader);
    first(&world);
    world.begin(1);
    let worker = world.worker(1);
    world.publish(1);
    deeds(&world);
    join_all([reader, worker]); // the order of the two is explored, too
    world.finish();
}

#[test]
fn a_reader_against_the_worker() {
    check("reader and worker", 2, 1, || {
        let reader = |w: &World| {
            w.read_thing();
            w.read_thing();
        };
        let retires = |w: &World| w.retire([0]);
        beside_reader_and_worker(Domain::deferring(4), reader, |w| w.retire([5]), retires);
    });
}

/// A section's own thread retires an object that it still uses: it never waits, and nothing is freed too
/// early. The batch is one object, so every push requests a grace period and drives it as far as it goes
/// without a wait.
#[test]
fn a_section_that_retires() {
    check("inside", 2, 1, || {
        let world = retired(Domain::deferring(1), [5]);
        world.beside_worker(|world| {
            {
                let _guard = rcu::read_lock();
                let thing = world.look_at_thing();
                world.publish(1);
                world.retire([thing, 2]);
                world.use_thing(thing);
                world.retire([3]);
                world.use_thing(thing);
            }
            world.retire([4]);
        });
    });
}

/// One thread drives a grace period of its own while the other retires a batch.
#[test]
fn retiring_while_another_drives() {
    check("while another drives", 1, 1, || {
        let (world, reader) = owner_beside_registered(Domain::deferring(1), World::read_thing);
        world.retire([5]);
        world.begin(1);
        let driver = world.thread(|_| rcu::synchronize());
        world.publish(1);
        world.retire([0]);
        world.retire([2]);
        join_all([reader, driver]);
        world.finish();
    });
}

#[test]
fn fenced_readers() {
    check("fenced", 2, 1, || {
        let domain = Domain::deferring(2).fenced();
        let retires = |w: &World| w.retire([0, 2]);
        beside_reader_and_worker(domain, World::read_thing, |w| w.retire([5]), retires);
    });
}

/// Threads without a slot share a queue.
#[test]
fn the_shared_queue() {
    check("shared", 1, 1, || {
        let world = reclaiming(Domain::deferring(2));
        let bystanders = [world.bystander(), world.bystander()];
        world.domain.enter();
        world.ready(2);
        let other = world.thread(|w| {
            w.retire([1]);
            w.call(2);
            w.retire([3]);
        });
        let worker = world.worker(1);
        world.publish(1);
        world.retire([0]);
        world.retire([4]);
        branching(false);
        join_all([other, worker]);
        world.let_go(2);
        join_all(bystanders);
        world.finish();
    });
}

#[test]
fn heads_in_objects() {
    check("heads", 2, 1, || {
        let calls = |w: &World| {
            w.call_head(0);
            w.call_head(2);
        };
        let first = |w: &World| w.call_head(5);
        beside_reader_and_worker(Domain::deferring(2), World::read_thing, first, calls);
    });
}

#[test]
fn a_callback_that_queues_another() {
    check("callbacks in callbacks", 2, 1, || {
        let world = owner(Domain::deferring(2));
        world.call_that_retires(0, 1);
        world.beside_worker(|world| {
            world.call_that_retires(2, 3);
            world.call(4);
        });
    });
}

/// In a domain that runs callbacks inline owner and taker both run them.
#[test]
fn owners_run_their_callbacks() {
    check("inline", 2, 1, || {
        let world = owner(Domain::deferring(1).inline());
        let guard = rcu::read_lock();
        world.call_that_retires(0, 1);
        world.call(2);
        drop(guard);
        world.call(3); // and they are done
        world.call(7);
        world.call(8);
        assert!(world.is_gone(0), "one a push, here");
        world.beside_worker(|world| {
            world.call(4);
            world.call_long([5, 6]);
        });
    });
}

/// In fenced mode an owner has no fast path on which to run callbacks: the worker runs them.
#[test]
fn closures_of_owners_in_fenced_mode() {
    check("fenced inline", 2, 1, || {
        let world = owner(Domain::deferring(1).fenced().inline());
        world.call_long([0]);
        world.beside_worker(|world| {
            world.call_long([1]);
            world.retire([2]);
        });
    });
}

/// The worker sleeps, or is about to sleep, or works: a hurried request reaches it in each case. If a kick
/// were lost, the caller would wait for ever.
#[test]
fn a_hurry_wakes_the_worker() {
    check("kick", 2, 1, || {
        let world = retired(Domain::patient(4), [0]);
        let worker = world.serving();
        world.begin(0);
        world.call_hurry_reopens();
        world.wait_reopened();
        branching(false);
        worker.end(&world);
        assert!(world.is_gone(0), "it goes along with the hurry");
        world.finish_patient();
    });
}

/// Two kicks, of which the worker may notice only one.
#[test]
fn two_hurries() {
    check("two kicks", 1, 1, || {
        let (world, other) = owner_beside_registered(Domain::patient(4), |w| {
            w.call_hurry(1);
        });
        let worker = world.serving();
        world.begin(1);
        world.call_hurry_reopens();
        world.wait_reopened();
        branching(false);
        other.join();
        worker.end(&world);
        assert!(world.is_gone(1), "the worker was woken for it");
        world.finish_patient();
    });
}

/// Another thread's grace period makes a hurried object ready during the worker's check: then no wait is
/// needed, but the worker still has to run it.
#[test]
fn a_hurry_that_is_ready_between_two_looks() {
    check("ready in between", 2, 1, || {
        let (world, other) = owner_beside_registered(Domain::patient(4), |_| rcu::synchronize());
        world.retire([0]);
        let worker = world.serving();
        world.begin(1);
        world.retire_hurry(1);
        world.await_gone(1);
        branching(false);
        other.join();
        worker.end(&world);
        assert!(world.is_gone(0), "it goes along with the hurry");
        world.finish_patient();
    });
}

/// The alarm alone: a check after a kick sees everything before the kick `[ALM-1]`.
#[test]
fn a_kick_against_a_worker_that_goes_to_sleep() {
    check("alarm", 4, 2, || {
        let world = World::new(Domain::patient(4));
        let worker = world.registered(|w| {
            while w.pointer.load(Relaxed) != 2 {
                w.domain.sleep();
            }
        });
        world.domain.enter();
        world.begin(1);
        for news in [1, 2] {
            world.pointer.store(news, Relaxed);
            world.domain.kick();
        }
        worker.join();
    });
}
