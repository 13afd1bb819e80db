//! The membarrier mode under C11. Its fast paths run with their own orderings where nothing depends on
//! a light fence (*bare*), and as a whole where light fences are full ones (*paired*). What a light
//! fence really is, beside a heavy one, the double shows.

mod common;

use common::{World, check, join};
use quiescent_loom_primitives::Fences::{Bare, Paired};
use quiescent_loom_primitives::with_fences;
use quiescent_on_loom as rcu;
use rcu::check::Model as Domain;

/// Spins, each with a scan, before a driver would flag its holdouts: more than there are steps, since
/// flag and sleep depend on a pair of fences.
const FOR_EVER: u16 = 1000;

#[test]
fn a_section_s_reads_come_before_what_follows_the_grace_period() {
    with_fences(Bare, || {
        check("bare: unlock", 3, || {
            let world = World::new(Domain::with_spins(FOR_EVER, 0));
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
    with_fences(Bare, || {
        check("bare: next section", 3, || {
            let world = World::new(Domain::with_spins(FOR_EVER, 0));
            let reader = world.thread(|w| {
                let guard = rcu::read_lock();
                w.arrive();
                w.use_object(0);
                drop(guard);
                drop(rcu::read_lock()); // the scan may find the thread inside, one generation on
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
    with_fences(Paired, || {
        check("paired: reader", 3, || {
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
    with_fences(Paired, || {
        check("paired: repin", 2, || {
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
    with_fences(Paired, || {
        check("paired: waiter", 2, || {
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
