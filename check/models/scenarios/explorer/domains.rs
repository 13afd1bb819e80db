//! A program's own domains on the store-buffer machine: the edges of `reader/records.rs` and
//! `domain/sections.rs`, which are those of the global domain's readers with another reader record; threads
//! that register, change between domains, end, and share the counters of unregistered readers.

use crate::common::races::{
    Side, has_read, is_known, leave_and_come_back, nothing, notify_the_worker, race,
    race_without_slots, read, reads,
};
use crate::common::{World, check};
use quiescent_on_explorer as rcu;
use rcu::check::Model;
use rcu::{Domain, PerThread};

type Own = &'static Domain;

#[test]
fn reader_against_updater() {
    check("domain: reader", 2, 2, || {
        race(Model::new(), nothing, [reads::<Own>], 1);
    });
}

#[test]
fn two_readers() {
    check("domain: two readers", 2, 1, || {
        race(Model::new(), nothing, [reads::<Own>; 2], 2);
    });
}

/// The reader has no slot yet, and the updater sees no other thread.
#[test]
fn newcomer_while_the_only_thread_updates() {
    check("domain: newcomer", 2, 2, || {
        race(Model::new(), has_read, [read::<Own>], 0);
    });
}

/// The reader is known to the process, but not to this domain.
#[test]
fn a_thread_with_a_slot_reads_here_for_the_first_time() {
    check("domain: first section", 2, 2, || {
        let reader = |world: &World, domain: Own| {
            world.come();
            domain.read_once(world);
        };
        race(Model::new(), has_read, [reader], 1);
    });
}

#[test]
fn reader_that_comes_back_at_once() {
    check("domain: two sections", 2, 1, || {
        let reader = |world: &World, domain: Own| {
            reads(world, domain);
            let _guard = domain.read_lock();
            let object = world.look();
            drop(domain.read_lock()); // nested
            world.use_object(object);
        };
        race(Model::new(), nothing, [reader], 1);
    });
}

#[test]
fn nested_deeper_than_the_word_counts() {
    check("domain: nested deeply", 2, 1, || {
        let reader = |world: &World, domain: Own| {
            is_known(world, domain);
            let outer: Vec<_> = (0..6).map(|_| domain.read_lock()).collect();
            let object = world.look();
            let mut guards = outer;
            guards.rotate_left(2); // dropped in another order
            let last = guards.pop();
            drop(guards);
            world.use_object(object);
            drop(last);
        };
        race(Model::new(), nothing, [reader], 1);
    });
}

#[test]
fn fenced_mode() {
    check("domain: fenced", 2, 2, || {
        race(Model::new().fenced(), nothing, [reads::<Own>], 1);
    });
}

#[test]
fn readers_without_a_slot() {
    check("domain: unregistered reader", 2, 1, || {
        race_without_slots([|w, domain: Own| {
            let outer = domain.read_lock();
            let inner = domain.read_lock(); // possibly in the other counter
            drop(outer);
            let object = w.look();
            w.use_object(object);
            drop(inner);
        }]);
    });
}

/// A thread notes one domain; its record in the other domain has to be looked up.
#[test]
fn a_reader_of_two_domains() {
    check("domain: two domains", 2, 1, || {
        let world = World::new(Model::new());
        let (here, there) = (world.domain.own_domain(0), world.domain.own_domain(1));
        let reader = world.thread(move |w| {
            is_known(w, here);
            let other = there.read_lock();
            here.read_once(w);
            drop(other);
            here.read_once(w);
        });
        world.domain.enter();
        world.begin(1);
        here.update(&world);
        there.synchronize();
        reader.join();
    });
}

/// Its slot, and the reader record with it, then belong to another thread.
#[test]
fn a_thread_that_left_and_comes_back() {
    check("domain: left and back", 2, 1, leave_and_come_back::<Own>);
}

#[test]
fn the_worker_is_notified() {
    check("domain: worker", 2, 1, notify_the_worker::<PerThread>);
}
