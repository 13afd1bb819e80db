//! Readers off the fast path: unregistered readers, fenced mode, and the change of the mode.

use crate::common::races::{Process, nothing, race, race_without_slots, read, read_twice};
use crate::common::{World, check};
use quiescent_models::explorer::branching;
use quiescent_on_explorer as rcu;
use rcu::check::Model as Domain;
use rcu::{FenceMode, Options};

#[test]
fn unregistered_reader() {
    check("unregistered reader", 2, 2, || {
        race_without_slots([read_twice::<Process>])
    });
}

#[test]
fn two_unregistered_readers() {
    check("two unregistered readers", 2, 1, || {
        race_without_slots([read::<Process>; 2]);
    });
}

#[test]
fn nested_unregistered_reader_that_repins() {
    check("nested unregistered reader", 2, 1, || {
        race_without_slots([|w, _: Process| {
            let mut outer = rcu::read_lock();
            let object = w.look();
            let inner = rcu::read_lock();
            outer.repin(); // does nothing: another guard is alive
            w.use_object(object);
            drop(inner);
            outer.repin();
            w.look();
        }]);
    });
}

#[test]
fn fenced_reader() {
    check("fenced reader", 3, 2, || {
        let reader = |w: &World, process: Process| {
            w.come();
            read_twice(w, process);
        };
        race(Domain::new().fenced(), nothing, [reader], 1);
    });
}

#[test]
fn fenced_reader_that_registers_meanwhile() {
    check("fenced newcomer", 3, 2, || {
        let reader = |w: &World, _: Process| {
            let mut guard = rcu::read_lock();
            w.look();
            guard.repin();
            w.look();
        };
        race(Domain::new().fenced(), nothing, [reader], 0);
    });
}

#[test]
fn the_mode_changes_while_a_reader_registers() {
    check("change of the mode", 2, 3, || {
        let world = World::new(Domain::new());
        world.begin(0);
        let reader = world.thread(|w| read_twice(w, Process));
        world.domain.enter();
        let _ = Options::new().fence(FenceMode::Fenced).apply(); // refused if the reader was first
        world.update(0, 1);
        reader.join();
    });
}

/// A section beyond the nesting limit ends with the last of its guards.
#[test]
fn fenced_reader_beyond_the_nesting_limit() {
    check("beyond the limit", 2, 2, || {
        let reader = |w: &World, _: Process| {
            w.come();
            branching(false); // only the end is explored
            let guards: Vec<_> = (0..rcu::check::NEST_LIMIT)
                .map(|_| rcu::read_lock())
                .collect();
            let last = rcu::read_lock();
            drop(guards);
            branching(true);
            w.look();
            drop(last);
        };
        race(Domain::new().fenced(), nothing, [reader], 1);
    });
}
