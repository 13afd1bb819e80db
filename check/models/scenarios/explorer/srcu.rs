//! Counted readers on the store-buffer machine: every edge of `reader/counted.rs` and of the worker, with
//! readers that end their sections on other threads, and the exchange of the two counts.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use crate::common::races::{
    Side, has_read, is_known, leave_and_come_back, nothing, notify_the_worker, race,
    race_without_slots, read, reads,
};
use crate::common::{World, check};
use quiescent_on_explorer as rcu;
use rcu::check::Model as Domain;
use rcu::{Counted, Srcu};

type Own = &'static Srcu;

#[test]
fn reader_against_updater() {
    check("srcu: reader", 2, 2, || {
        race(Domain::new(), nothing, [reads::<Own>], 1);
    });
}

#[test]
fn newcomer_while_the_only_thread_updates() {
    check("srcu: newcomer", 2, 2, || {
        race(Domain::new(), has_read, [read::<Own>], 0);
    });
}

/// A driver that has been alone: only the first section of a newcomer has a fence of its own.
#[test]
fn newcomer_who_stays_while_the_only_thread_updates() {
    check("srcu: newcomer that stays", 2, 2, || {
        race(Domain::new(), has_read, [reads::<Own>], 1);
    });
}

#[test]
fn reader_that_comes_back_at_once() {
    check("srcu: two sections", 2, 1, || {
        let reader = |w: &World, srcu: Own| {
            is_known(w, srcu);
            let first = srcu.read_lock_send();
            w.look();
            let second = srcu.read_lock(); // perhaps in the other count
            drop(first);
            w.look();
            drop(second);
        };
        race(Domain::new(), nothing, [reader], 1);
    });
}

/// The sum must not take the end of one section for that of another.
#[test]
fn two_readers_one_of_which_ends_while_sums_are_taken() {
    check("srcu: two readers", 2, 1, || {
        let long = |w: &World, srcu: Own| {
            is_known(w, srcu);
            let _guard = srcu.read_lock_send(); // sums have both kinds
            let object = w.look();
            w.use_object(object);
        };
        let short = |w: &World, srcu: Own| {
            reads(w, srcu);
            srcu.read_once(w);
        };
        race(Domain::new(), nothing, [long, short], 2);
    });
}

/// The driver sleeps. Of the last two sections, one has to find the count empty.
#[test]
fn two_that_end_at_the_same_time() {
    check("srcu: the last two", 2, 1, || {
        let last = |w: &World, srcu: Own| {
            let _guard = srcu.read_lock();
            w.look();
            w.pass_on();
        };
        race(Domain::new(), nothing, [last, last], 2);
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
            is_known(w, srcu);
            w.use_object(object);
            drop(guard);
        });
        world.begin(1);
        srcu.update(&world);
        other.join();
        world.domain.leave();
    });
}

/// Its number, and the counters with it, then belong to another thread.
#[test]
fn a_thread_that_left_and_comes_back() {
    check("srcu: left and back", 2, 1, leave_and_come_back::<Own>);
}

#[test]
fn fenced_mode() {
    check("srcu: fenced", 2, 2, || {
        race(Domain::new().fenced(), nothing, [reads::<Own>], 1);
    });
}

#[test]
fn readers_without_a_slot() {
    check("srcu: unregistered reader", 2, 1, || {
        race_without_slots([read::<Own>]);
    });
}

/// Two domains have due entries at the same time: the worker issues one fence for both.
#[test]
fn the_worker_looks_after_two() {
    check("srcu: worker of two", 2, 1, || {
        let world = World::new(Domain::deferring(8));
        let srcus = [world.domain.srcu(), world.domain.srcu()];
        let reader = world.thread(move |w| {
            reads(w, srcus[0]);
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
            world.domain.care_for(srcus);
            if ran.iter().all(has_run) {
                break;
            }
            world.domain.sleep(); // for ever, unless it is kicked
        }
        world.free(0);
        reader.join();
    });
}

#[test]
fn the_worker_is_notified() {
    check("srcu: worker", 2, 1, notify_the_worker::<Counted>);
}
