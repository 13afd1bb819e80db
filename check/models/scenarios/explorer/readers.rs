//! Readers against one updater: reader word, registration, driver, flag and sleep. There are no spins: a
//! driver that finds a holdout flags it and sleeps, so every reader that was found inside has to wake it.

use crate::common::{World, check, join_all};
use quiescent_on_explorer as rcu;
use rcu::check::Model as Domain;

#[test]
fn registered_reader() {
    check("registered reader", 3, 2, || {
        let world = World::new(Domain::new());
        let reader = world.registered(World::read);
        world.domain.enter();
        world.begin(1);
        world.update(0, 1);
        reader.join();
    });
}

#[test]
fn reader_that_registers_meanwhile() {
    check("newcomer", 3, 2, || {
        let world = World::new(Domain::new());
        world.begin(0);
        let reader = world.thread(World::read);
        world.domain.enter();
        world.update(0, 1);
        reader.join();
    });
}

#[test]
fn reader_that_registers_while_the_only_thread_updates() {
    check("sole updater and newcomer", 3, 2, || {
        let world = World::new(Domain::new());
        world.domain.enter();
        world.domain.register();
        world.begin(0);
        let reader = world.thread(World::read);
        world.update(0, 1);
        reader.join();
        world.domain.leave();
    });
}

/// The updater has had a grace period, so that the next one is one call of the engine.
#[test]
fn reader_that_registers_beside_a_grace_period_in_one_call() {
    check("one call and newcomer", 3, 2, || {
        let world = World::new(Domain::new());
        world.domain.enter();
        world.domain.register();
        rcu::synchronize();
        world.begin(0);
        let reader = world.thread(World::read);
        world.update(0, 1);
        reader.join();
        world.domain.leave();
    });
}

#[test]
fn reader_that_comes_back_at_once() {
    check("two sections", 2, 2, || {
        let world = World::new(Domain::new());
        let reader = world.registered(|w| {
            w.read();
            w.read();
        });
        world.domain.enter();
        world.begin(1);
        world.update(0, 1);
        reader.join();
    });
}

#[test]
fn long_reader_uses_what_it_found_first() {
    check("long reader", 4, 2, || {
        let world = World::new(Domain::new());
        let reader = world.registered(|w| {
            let _guard = rcu::read_lock();
            let object = w.look();
            w.look();
            w.use_object(object);
        });
        world.domain.enter();
        world.begin(1);
        world.update(0, 1);
        reader.join();
    });
}

#[test]
fn nested_reader_drops_its_guards_in_any_order() {
    check("nested reader", 2, 2, || {
        let world = World::new(Domain::new());
        let reader = world.registered(|w| {
            let outer = rcu::read_lock();
            let object = w.look();
            let inner = rcu::read_lock();
            drop(outer);
            w.use_object(object);
            drop(inner);
            w.read();
        });
        world.domain.enter();
        world.begin(1);
        world.update(0, 1);
        reader.join();
    });
}

#[test]
fn reader_that_repins_lets_the_driver_go() {
    check("repin", 2, 2, || {
        let world = World::new(Domain::new());
        let reader = world.registered(|w| {
            let mut guard = rcu::read_lock();
            let object = w.look();
            w.use_object(object);
            guard.repin();
            w.look();
            guard.repin();
        });
        world.domain.enter();
        world.begin(1);
        world.update(0, 1);
        reader.join();
    });
}

#[test]
fn two_readers() {
    check("two readers", 2, 1, || {
        let world = World::new(Domain::new());
        let readers = [world.registered(World::read), world.registered(World::read)];
        world.domain.enter();
        world.begin(2);
        world.update(0, 1);
        join_all(readers);
    });
}

#[test]
fn one_reader_ends_and_another_takes_its_slot() {
    check("slot reuse", 2, 1, || {
        let world = World::new(Domain::new());
        let first = world.registered(World::read); // and ends
        world.domain.enter();
        world.begin(1);
        let second = world.thread(World::read);
        world.update(0, 1);
        join_all([first, second]);
    });
}

#[test]
fn driver_that_spins_first() {
    check("spinning driver", 2, 2, || {
        let world = World::new(Domain::with_spins(2, 1));
        let reader = world.registered(|w| {
            w.read();
            w.read();
        });
        world.domain.enter();
        world.begin(1);
        world.update(0, 1);
        reader.join();
    });
}
