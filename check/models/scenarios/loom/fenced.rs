//! The fenced mode under C11, with the product's own orderings: see `docs/ordering.md`.

use crate::common::{
    World, check, has_waited, join, race, race_with_poller, race_with_waiter, race_without_slots,
    read, registers,
};
use crate::side::{Process, Side, nothing};
use quiescent_models::loom::UnsafeCell;
use quiescent_on_loom as rcu;
use rcu::RcuCell;
use rcu::check::Model as Domain;

fn reads_twice(world: &World, process: Process) {
    process.read_once(world);
    process.read_once(world);
}

#[test]
fn reader_against_updater() {
    check("reader", 6, || race(nothing, [read::<Process>]));
}

#[test]
fn reader_that_comes_back_at_once() {
    check("two sections", 5, || race(nothing, [reads_twice]));
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
        let reader = world.thread(|w| reads_twice(w, Process));
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
    check("waiter", 3, race_with_waiter);
}

#[test]
fn a_poller_frees_what_another_waited_for() {
    check("poller", 3, race_with_poller);
}

#[test]
fn unregistered_reader() {
    check("unregistered reader", 6, race_without_slots);
}

#[test]
fn a_new_value_is_seen_whole() {
    struct Value(UnsafeCell<u32>);
    // SAFETY: loom checks every access.
    unsafe impl Sync for Value {}
    impl Value {
        fn new(value: u32) -> Value {
            let cell = UnsafeCell::new(0);
            // SAFETY: loom checks that no access is concurrent.
            cell.with_mut(|place| unsafe { *place = value });
            Value(cell)
        }
    }
    check("pointer", 5, || {
        let domain = Domain::new();
        domain.enter();
        let cell = std::sync::Arc::new(RcuCell::new(Value::new(1)));
        let shared = cell.clone();
        let reader = quiescent_models::loom::thread::spawn(move || {
            domain.enter();
            let seen = rcu::read(|guard| {
                // SAFETY: loom checks that no write is concurrent.
                shared.load(guard).0.with(|value| unsafe { *value })
            });
            assert!(seen == 1 || seen == 2, "an unfinished value: {seen}");
            domain.leave();
        });
        let old = cell.store(Value::new(2)).wait();
        // SAFETY: loom checks that no access is concurrent.
        old.0.with_mut(|value| unsafe { *value = 0 });
        join(reader);
    });
}
