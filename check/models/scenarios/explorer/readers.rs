//! Readers against one updater: reader word, registration, driver, flag and sleep. There are no spins: a
//! driver that finds a holdout flags it and sleeps, so every reader that was found inside has to wake it.

use crate::common::races::{Body, Process, nothing, race, read};
use crate::common::{World, check, join_all};
use quiescent_on_explorer as rcu;
use rcu::check::Model as Domain;

/// Readers, all of which have registered before, against the updater.
fn registered<const N: usize>(readers: [Body<Process>; N]) {
    race(Domain::new(), nothing, readers, N as u32);
}

fn comes_and_reads(world: &World, _: Process) {
    world.come();
    world.read();
}

fn comes_and_reads_twice(world: &World, process: Process) {
    comes_and_reads(world, process);
    world.read();
}

#[test]
fn registered_reader() {
    check("registered reader", 3, 2, || registered([comes_and_reads]));
}

#[test]
fn reader_that_registers_meanwhile() {
    check("newcomer", 3, 2, || {
        race(Domain::new(), nothing, [read::<Process>], 0)
    });
}

#[test]
fn reader_that_registers_while_the_only_thread_updates() {
    check("sole updater and newcomer", 3, 2, || {
        race(
            Domain::new(),
            |w, _| w.domain.register(),
            [read::<Process>],
            0,
        );
    });
}

/// The updater has had a grace period, so that the next one is one call of the engine.
#[test]
fn reader_that_registers_beside_a_grace_period_in_one_call() {
    check("one call and newcomer", 3, 2, || {
        let before = |w: &World, _| {
            w.domain.register();
            rcu::synchronize();
        };
        race(Domain::new(), before, [read::<Process>], 0);
    });
}

#[test]
fn reader_that_comes_back_at_once() {
    check("two sections", 2, 2, || registered([comes_and_reads_twice]));
}

#[test]
fn long_reader_uses_what_it_found_first() {
    check("long reader", 4, 2, || {
        registered([|w, _| {
            w.come();
            let _guard = rcu::read_lock();
            let object = w.look();
            w.look();
            w.use_object(object);
        }]);
    });
}

#[test]
fn nested_reader_drops_its_guards_in_any_order() {
    check("nested reader", 2, 2, || {
        registered([|w, _| {
            w.come();
            let outer = rcu::read_lock();
            let object = w.look();
            let inner = rcu::read_lock();
            drop(outer);
            w.use_object(object);
            drop(inner);
            w.read();
        }]);
    });
}

#[test]
fn reader_that_repins_lets_the_driver_go() {
    check("repin", 2, 2, || {
        registered([|w, _| {
            w.come();
            let mut guard = rcu::read_lock();
            let object = w.look();
            w.use_object(object);
            guard.repin();
            w.look();
            guard.repin();
        }]);
    });
}

#[test]
fn two_readers() {
    check("two readers", 2, 1, || registered([comes_and_reads; 2]));
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
        race(
            Domain::with_spins(2, 1),
            nothing,
            [comes_and_reads_twice],
            1,
        );
    });
}
