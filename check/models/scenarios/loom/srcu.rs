//! Counted readers under C11, with the product's own orderings: see `docs/ordering.md`.

use crate::common::{World, check, join};
use quiescent_models::loom::with_membarrier;
use quiescent_on_loom as rcu;
use rcu::check::Model as Domain;

/// A section that reads once.
fn read(world: &World) {
    let _guard = world.srcu().read_lock();
    world.look();
}

/// The usual updater.
fn update(world: &World) {
    world.publish(1);
    world.srcu().synchronize();
    world.free(0);
}

#[test]
fn reader_against_updater() {
    check("srcu: reader", 3, || {
        let world = World::counted(Domain::new());
        let reader = world.thread(read);
        world.domain.enter();
        update(&world);
        join(reader);
    });
}

#[test]
fn newcomer_while_the_only_thread_updates() {
    check("srcu: newcomer", 3, || {
        let world = World::counted(Domain::new());
        world.domain.enter();
        drop(world.srcu().read_lock());
        let reader = world.thread(read);
        update(&world);
        join(reader);
    });
}

#[test]
fn a_section_s_reads_come_before_what_follows_the_grace_period() {
    with_membarrier(|| {
        check("srcu, membarrier: unlock", 3, || {
            let world = World::counted(Domain::new());
            let reader = world.thread(|w| {
                drop(w.srcu().read_lock()); // it is known, and takes the fast path from here on
                let _guard = w.srcu().read_lock();
                w.arrive();
                w.use_object(0);
            });
            world.domain.enter();
            world.wait_for_arrival();
            update(&world);
            join(reader);
        });
    });
}

#[test]
fn reader_that_goes_the_fast_way() {
    with_membarrier(|| {
        check("srcu, membarrier: reader", 3, || {
            let world = World::counted(Domain::new());
            let reader = world.thread(|w| {
                drop(w.srcu().read_lock());
                read(w);
            });
            world.domain.enter();
            update(&world);
            join(reader);
        });
    });
}
