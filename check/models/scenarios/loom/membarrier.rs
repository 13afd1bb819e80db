//! The membarrier mode under C11: its fast paths with their own orderings, and light fences that pair with
//! heavy ones and with nothing else (see `check/models/src/loom.rs`).

use crate::common::{World, check, join};
use quiescent_models::loom::with_membarrier;
use quiescent_on_loom as rcu;
use rcu::check::Model as Domain;

#[test]
fn a_section_s_reads_come_before_what_follows_the_grace_period() {
    with_membarrier(|| {
        check("membarrier: unlock", 4, || {
            let world = World::new(Domain::new());
            let reader = world.thread(|w| {
                let _guard = rcu::read_lock();
                w.arrive();
                w.use_object(0);
            });
            world.domain.enter();
            world.wait_for_arrival();
            world.update(0, 1);
            join(reader);
        });
    });
}

#[test]
fn a_new_generation_says_that_the_old_section_is_over() {
    with_membarrier(|| {
        check("membarrier: next section", 4, || {
            let world = World::new(Domain::new());
            let reader = world.thread(|w| {
                let guard = rcu::read_lock();
                w.arrive();
                w.use_object(0);
                drop(guard);
                // The scan may find the thread inside, with another generation, and nested or not.
                let _next = rcu::read_lock();
                drop(rcu::read_lock());
            });
            world.domain.enter();
            world.wait_for_arrival();
            world.update(0, 1);
            join(reader);
        });
    });
}

#[test]
fn reader_against_updater() {
    with_membarrier(|| {
        check("membarrier: reader", 4, || {
            let world = World::new(Domain::new());
            let reader = world.thread(World::read);
            world.domain.enter();
            world.update(0, 1);
            join(reader);
        });
    });
}

#[test]
fn two_sections_and_a_repin() {
    with_membarrier(|| {
        check("membarrier: repin", 4, || {
            let world = World::new(Domain::new());
            let reader = world.thread(|w| {
                let mut guard = rcu::read_lock();
                w.look();
                guard.repin();
                w.look();
                drop(guard);
                w.read();
            });
            world.domain.enter();
            world.update(0, 1);
            join(reader);
        });
    });
}

#[test]
fn a_waiter_is_satisfied_by_another_who_drives() {
    with_membarrier(|| {
        check("membarrier: waiter", 4, || {
            let world = World::new(Domain::new());
            let reader = world.thread(World::read);
            let driver = world.thread(|_| rcu::synchronize());
            world.domain.enter();
            world.update(0, 1);
            join(reader);
            join(driver);
        });
    });
}

#[test]
fn registered_updater_against_a_newcomer() {
    with_membarrier(|| {
        check("membarrier: sole updater", 4, || {
            let world = World::new(Domain::new());
            world.domain.enter();
            world.domain.register();
            let reader = world.thread(World::read);
            world.update(0, 1);
            join(reader);
            world.domain.leave();
        });
    });
}

#[test]
fn one_call_against_a_newcomer() {
    with_membarrier(|| {
        check("membarrier: one call", 4, || {
            let world = World::new(Domain::new());
            world.domain.enter();
            world.domain.register();
            rcu::synchronize(); // brings the tree
            let reader = world.thread(World::read);
            world.update(0, 1);
            join(reader);
            world.domain.leave();
        });
    });
}

#[test]
fn unregistered_readers() {
    with_membarrier(|| {
        check("membarrier: unregistered readers", 4, || {
            let world = World::new(Domain::new());
            world.fill_slots();
            let reader = world.thread(World::read);
            world.domain.enter();
            world.update(0, 1);
            join(reader);
        });
    });
}

#[test]
fn a_poller_frees_what_another_waited_for() {
    with_membarrier(|| {
        check("membarrier: poller", 3, || {
            let world = World::new(Domain::new());
            world.domain.enter();
            let reader = world.thread(World::read);
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
    });
}
