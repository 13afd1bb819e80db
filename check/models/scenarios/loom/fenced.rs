//! The fenced mode under C11, with the product's own orderings: see `docs/ordering.md`.

use crate::common::{World, check, join};
use quiescent_models::loom::UnsafeCell;
use quiescent_on_loom as rcu;
use rcu::RcuCell;
use rcu::check::Model as Domain;

#[test]
fn reader_against_updater() {
    check("reader", 6, || {
        let world = World::new(Domain::new());
        let reader = world.thread(World::read);
        world.domain.enter();
        world.update(0, 1);
        join(reader);
    });
}

#[test]
fn reader_that_comes_back_at_once() {
    check("two sections", 5, || {
        let world = World::new(Domain::new());
        let reader = world.thread(|w| {
            w.read();
            w.read();
        });
        world.domain.enter();
        world.update(0, 1);
        join(reader);
    });
}

#[test]
fn nested_reader_that_repins() {
    check("nested and repin", 4, || {
        let world = World::new(Domain::new());
        let reader = world.thread(|w| {
            let mut outer = rcu::read_lock();
            let object = w.look();
            let inner = rcu::read_lock();
            w.use_object(object);
            drop(inner);
            outer.repin();
            w.look();
        });
        world.domain.enter();
        world.update(0, 1);
        join(reader);
    });
}

#[test]
fn registered_updater_against_a_newcomer() {
    check("sole updater", 6, || {
        let world = World::new(Domain::new());
        world.domain.enter();
        world.domain.register();
        let reader = world.thread(World::read);
        world.update(0, 1);
        join(reader);
        world.domain.leave();
    });
}

#[test]
fn one_call_against_a_newcomer() {
    check("one call", 6, || {
        let world = World::new(Domain::new());
        world.domain.enter();
        world.domain.register();
        rcu::synchronize(); // brings the tree
        let reader = world.thread(World::read);
        world.update(0, 1);
        join(reader);
        world.domain.leave();
    });
}

#[test]
fn two_updates_in_a_row() {
    check("two updates", 4, || {
        let world = World::new(Domain::new());
        let reader = world.thread(|w| {
            w.read();
            w.read();
        });
        world.domain.enter();
        world.update(0, 1);
        world.update(1, 2);
        join(reader);
    });
}

#[test]
fn two_readers() {
    check("two readers", 3, || {
        let world = World::new(Domain::new());
        let readers = [world.thread(World::read), world.thread(World::read)];
        world.domain.enter();
        world.update(0, 1);
        readers.into_iter().for_each(join);
    });
}

#[test]
fn a_waiter_is_satisfied_by_another_who_drives() {
    check("waiter", 3, || {
        let world = World::new(Domain::new());
        let reader = world.thread(World::read);
        let driver = world.thread(|_| rcu::synchronize());
        world.domain.enter();
        world.update(0, 1);
        join(reader);
        join(driver);
    });
}

#[test]
fn a_poller_frees_what_another_waited_for() {
    check("poller", 3, || {
        let world = World::new(Domain::new());
        let reader = world.thread(World::read);
        world.domain.enter();
        world.publish(1);
        let cookie = rcu::start_grace_period();
        let driver = world.thread(|_| rcu::synchronize());
        while !cookie.is_done() {
            quiescent_models::loom::yield_now();
        }
        world.free(0);
        join(reader);
        join(driver);
    });
}

#[test]
fn unregistered_reader() {
    check("unregistered reader", 6, || {
        let world = World::new(Domain::new());
        world.fill_slots();
        let reader = world.thread(World::read);
        world.domain.enter();
        world.update(0, 1);
        join(reader);
    });
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
