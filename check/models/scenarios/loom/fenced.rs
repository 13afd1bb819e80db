//! The fenced mode under C11, with the product's own orderings: see `docs/ordering.md`.

use std::sync::Arc;

use crate::common::watched::Watched;
use crate::common::{
    World, check, has_waited, join, no_slot_is_left, race, race_with_poller, registers, thread_of,
    waits,
};
use crate::side::{Process, Side, nothing, read, read_twice};
use quiescent_on_loom as rcu;
use rcu::RcuCell;
use rcu::check::Model as Domain;

#[test]
fn reader_against_updater() {
    check("reader", 6, || race(nothing, [read::<Process>]));
}

#[test]
fn reader_that_comes_back_at_once() {
    check("two sections", 5, || race(nothing, [read_twice::<Process>]));
}

#[test]
fn nested_reader_that_repins() {
    check("nested and repin", 4, || {
        let reader = |w: &World, _: Process| {
            let mut outer = rcu::read_lock();
            let object = w.look();
            let inner = rcu::read_lock();
            w.use_object(object);
            drop(inner);
            outer.repin();
            w.look();
        };
        race(nothing, [reader]);
    });
}

#[test]
fn registered_updater_against_a_newcomer() {
    check("sole updater", 6, || race(registers, [read]));
}

#[test]
fn one_call_against_a_newcomer() {
    check("one call", 6, || race(has_waited, [read]));
}

#[test]
fn two_updates_in_a_row() {
    check("two updates", 4, || {
        let world = World::new(Domain::new());
        let reader = world.thread(|w| read_twice(w, Process));
        world.domain.enter();
        Process.update(&world);
        world.publish(2);
        rcu::synchronize();
        world.free(1);
        join(reader);
    });
}

#[test]
fn two_readers() {
    check("two readers", 3, || race(nothing, [read::<Process>; 2]));
}

#[test]
fn a_waiter_is_satisfied_by_another_who_drives() {
    check("waiter", 3, || race(nothing, [read::<Process>, waits]));
}

#[test]
fn a_poller_frees_what_another_waited_for() {
    check("poller", 3, race_with_poller);
}

#[test]
fn unregistered_reader() {
    check("unregistered reader", 6, || race(no_slot_is_left, [read]));
}

#[test]
fn a_new_value_is_seen_whole() {
    check("pointer", 5, || {
        let domain = Domain::new();
        domain.enter();
        let cell = Arc::new(RcuCell::new(Watched::new(1)));
        let reader = thread_of(domain, &cell, |cell| {
            let seen = rcu::read(|guard| cell.load(guard).get());
            assert!(seen == 1 || seen == 2, "an unfinished value: {seen}");
        });
        let old = cell.store(Watched::new(2)).wait();
        old.replace(0);
        join(reader);
    });
}
