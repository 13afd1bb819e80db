//! Counted readers on the store-buffer machine: every edge of `reader/counted.rs` and of the worker, with
//! readers that end their sections on other threads, and the exchange of the two counts.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use crate::common::{World, check, join_all};
use quiescent_models::explorer::branching;
use quiescent_on_explorer as rcu;
use rcu::Srcu;
use rcu::check::Model as Domain;

/// A section that reads once.
fn read(world: &World, srcu: &Srcu) {
    let _guard = srcu.read_lock();
    world.look();
}

/// A thread that has read here before.
fn known(world: &World, srcu: &Srcu) {
    drop(srcu.read_lock());
    world.pass_on();
}

/// The usual updater.
fn update(world: &World, srcu: &Srcu) {
    world.publish(1);
    srcu.synchronize();
    world.free(0);
}

#[test]
fn reader_against_updater() {
    check("srcu: reader", 2, 2, || {
        let world = World::new(Domain::new());
        let srcu = world.domain.srcu();
        let reader = world.thread(|w| {
            known(w, srcu);
            read(w, srcu);
        });
        world.domain.enter();
        world.begin(1);
        update(&world, srcu);
        reader.join();
    });
}

#[test]
fn newcomer_while_the_only_thread_updates() {
    check("srcu: newcomer", 2, 2, || {
        let world = World::new(Domain::new());
        let srcu = world.domain.srcu();
        world.domain.enter();
        drop(srcu.read_lock());
        world.begin(0);
        let reader = world.thread(|w| read(w, srcu));
        update(&world, srcu);
        reader.join();
        world.domain.leave();
    });
}

/// A driver that has been alone: only the first section of a newcomer has a fence of its own.
#[test]
fn newcomer_who_stays_while_the_only_thread_updates() {
    check("srcu: newcomer that stays", 2, 2, || {
        let world = World::new(Domain::new());
        let srcu = world.domain.srcu();
        world.domain.enter();
        drop(srcu.read_lock());
        let reader = world.thread(|w| {
            known(w, srcu);
            read(w, srcu);
        });
        world.begin(1);
        update(&world, srcu);
        reader.join();
        world.domain.leave();
    });
}

#[test]
fn reader_that_comes_back_at_once() {
    check("srcu: two sections", 2, 1, || {
        let world = World::new(Domain::new());
        let srcu = world.domain.srcu();
        let reader = world.thread(|w| {
            known(w, srcu);
            let first = srcu.read_lock_send();
            w.look();
            let second = srcu.read_lock(); // perhaps in the other count
            drop(first);
            w.look();
            drop(second);
        });
        world.domain.enter();
        world.begin(1);
        update(&world, srcu);
        reader.join();
    });
}

/// The sum must not take the end of one section for that of another.
#[test]
fn two_readers_one_of_which_ends_while_sums_are_taken() {
    check("srcu: two readers", 2, 1, || {
        let world = World::new(Domain::new());
        let srcu = world.domain.srcu();
        let long = world.thread(|w| {
            known(w, srcu);
            let _guard = srcu.read_lock_send(); // sums have both kinds
            let object = w.look();
            w.use_object(object);
        });
        let short = world.thread(|w| {
            known(w, srcu);
            read(w, srcu);
            read(w, srcu);
        });
        world.domain.enter();
        world.begin(2);
        update(&world, srcu);
        join_all([long, short]);
    });
}

/// The driver sleeps. Of the last two sections, one has to find the count empty.
#[test]
fn two_that_end_at_the_same_time() {
    check("srcu: the last two", 2, 1, || {
        let world = World::new(Domain::new());
        let srcu = world.domain.srcu();
        let last = || {
            world.thread(|w| {
                let _guard = srcu.read_lock();
                w.look();
                w.pass_on();
            })
        };
        let readers = [last(), last()];
        world.domain.enter();
        world.begin(2);
        update(&world, srcu);
        join_all(readers);
    });
}

#[test]
fn section_that_ends_on_another_thread() {
    check("srcu: handed over", 2, 1, || {
        let world = World::new(Domain::new());
        let srcu = world.domain.srcu();
        world.domain.enter();
        let guard = srcu.read_lock_send();
        let object = world.look();
        let other = world.thread(move |w| {
            known(w, srcu);
            w.use_object(object);
            drop(guard);
        });
        world.begin(1);
        update(&world, srcu);
        other.join();
        world.domain.leave();
    });
}

/// Its number, and the counters with it, then belong to another thread: the note must be dropped.
#[test]
fn a_thread_that_left_and_comes_back() {
    check("srcu: left and back", 2, 1, || {
        let world = World::new(Domain::new());
        let srcu = world.domain.srcu();
        world.domain.enter();
        drop(srcu.read_lock());
        drop(srcu.read_lock()); // by now it has noted its tally
        world.domain.leave();
        let reader = world.thread(|w| {
            known(w, srcu);
            read(w, srcu);
        });
        world.begin(1); // the reader has the number
        drop(srcu.read_lock());
        update(&world, srcu);
        reader.join();
        world.domain.leave();
    });
}

#[test]
fn fenced_mode() {
    check("srcu: fenced", 2, 2, || {
        let world = World::new(Domain::new().fenced());
        let srcu = world.domain.srcu();
        let reader = world.thread(|w| {
            known(w, srcu);
            read(w, srcu);
        });
        world.domain.enter();
        world.begin(1);
        update(&world, srcu);
        reader.join();
    });
}

#[test]
fn readers_without_a_slot() {
    check("srcu: unregistered reader", 2, 1, || {
        let world = World::new(Domain::new());
        let srcu = world.domain.srcu();
        let bystanders = [world.bystander(), world.bystander()];
        let reader = world.thread(|w| read(w, srcu));
        world.domain.enter();
        world.begin(2);
        update(&world, srcu);
        reader.join();
        join_all(bystanders);
    });
}

/// Two domains have due entries at the same time: the worker issues one fence for both.
#[test]
fn the_worker_looks_after_two() {
    check("srcu: worker of two", 2, 1, || {
        let world = World::new(Domain::deferring(8));
        let srcus = [world.domain.srcu(), world.domain.srcu()];
        let reader = world.thread(move |w| {
            known(w, srcus[0]);
            read(w, srcus[0]);
        });
        world.domain.enter();
        world.begin(1);
        world.publish(1);
        let ran = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
        for (srcu, ran) in srcus.into_iter().zip(ran.clone()) {
            drop(srcu.read_lock());
            srcu.defer(move || ran.store(true, Relaxed));
        }
        let has_run = |ran: &Arc<AtomicBool>| ran.load(Relaxed);
        loop {
            world.domain.care_together(srcus);
            if ran.iter().all(has_run) {
                break;
            }
            world.domain.sleep(); // for ever, unless it is kicked
        }
        world.free(0);
        reader.join();
    });
}

/// The worker finds a reader inside, and is notified when the section has ended.
#[test]
fn the_worker_is_notified() {
    check("srcu: worker", 2, 1, || {
        let world = World::new(Domain::patient(8));
        let srcu = world.domain.srcu();
        let reader = world.thread(|w| {
            let _guard = srcu.read_lock();
            w.pass_on();
        });
        world.domain.enter();
        world.ready(1);
        branching(false);
        let ran = Arc::new(AtomicBool::new(false));
        let seen = ran.clone();
        srcu.defer_hurry(move || seen.store(true, Relaxed));
        world.domain.sleep(); // that kick ends the sleep
        world.let_go(1);
        branching(true);
        while !ran.load(Relaxed) {
            world.domain.care(srcu);
            if ran.load(Relaxed) {
                break;
            }
            world.domain.sleep(); // for ever, unless it is kicked
        }
        branching(false);
        reader.join();
    });
}
