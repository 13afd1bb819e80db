//! A program's own domains under C11, with the product's own orderings: see `docs/ordering.md`.

use crate::common::{World, check, join};
use quiescent_models::loom::{thread, with_membarrier};
use quiescent_on_loom as rcu;
use rcu::check::Model;

/// A section that reads once.
fn read(world: &World) {
    let _guard = world.own().read_lock();
    world.look();
}

/// The usual updater.
fn update(world: &World) {
    world.publish(1);
    world.own().synchronize();
    world.free(0);
}

#[test]
fn reader_against_updater() {
    check("domain: reader", 3, || {
        let world = World::with_own(Model::new());
        let reader = world.thread(read);
        world.domain.enter();
        update(&world);
        join(reader);
    });
}

/// The updater is the only thread that has read, and issues no fence.
#[test]
fn newcomer_while_the_only_thread_updates() {
    check("domain: newcomer", 3, || {
        let world = World::with_own(Model::new());
        world.domain.enter();
        drop(world.own().read_lock());
        let reader = world.thread(read);
        update(&world);
        join(reader);
    });
}

#[test]
fn reader_that_goes_the_fast_way() {
    with_membarrier(|| {
        check("domain, membarrier: reader", 3, || {
            let world = World::with_own(Model::new());
            let reader = world.thread(|w| {
                drop(w.own().read_lock());
                read(w);
            });
            world.domain.enter();
            update(&world);
            join(reader);
        });
    });
}

/// The driver sleeps, and the reader finds it through the domain's state `[GR-1]`.
#[test]
fn a_section_s_end_wakes_the_driver() {
    with_membarrier(|| {
        check("domain, membarrier: wake", 3, || {
            let world = World::with_own(Model::new());
            let reader = world.thread(|w| {
                let _guard = w.own().read_lock();
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

/// The last handle finds that it is the last one, and frees without a grace period what a section of a handle
/// that was dropped before has used `[HND-1]`.
#[test]
fn the_last_handle_frees_what_another_one_s_section_has_used() {
    check("domain: handles", 3, || {
        let world = World::with_own(Model::new());
        let other = world.own().clone();
        // SAFETY: the only use of the world's handle from here on.
        let last = unsafe { std::ptr::read(world.own()) };
        let user = world.clone();
        let reader = thread::spawn(move || {
            user.domain.enter();
            let guard = other.read_lock();
            user.use_object(0);
            drop(guard);
            drop(other);
            user.domain.leave();
        });
        world.domain.enter();
        let queued = world.clone();
        // SAFETY: the world is shared by threads, and lives as long as its clone.
        unsafe { last.defer_unchecked(move || queued.free(0)) };
        match last.free_now() {
            Ok(drained) => assert_eq!(drained.ran, 1),
            Err(refused) => std::mem::forget(refused), // the reader still has its handle
        }
        join(reader);
    });
}
