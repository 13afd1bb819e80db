//! A program's own domains under C11, with the product's own orderings: see `docs/ordering.md`.

use crate::common::{World, check, check_unfenced, join, race, race_inside, read};
use crate::side::{Side, has_read, nothing};
use quiescent_models::loom::thread;
use quiescent_on_loom::Domain;
use quiescent_on_loom::check::Model;

type Own = &'static Domain;

#[test]
fn reader_against_updater() {
    check("domain: reader", 3, || race(nothing, [read::<Own>]));
}

/// The updater is the only thread that has read, and issues no fence.
#[test]
fn newcomer_while_the_only_thread_updates() {
    check("domain: newcomer", 3, || race(has_read, [read::<Own>]));
}

#[test]
fn reader_that_goes_the_fast_way() {
    check_unfenced("domain, membarrier: reader", 3, || {
        race(
            nothing,
            [|w, domain: Own| {
                drop(domain.read_lock());
                domain.read_once(w);
            }],
        );
    });
}

/// The driver sleeps, and the reader finds it through the domain's state `[GR-1]`.
#[test]
fn a_section_s_end_wakes_the_driver() {
    check_unfenced("domain, membarrier: wake", 3, || {
        race_inside(|w, domain: Own| {
            let _guard = domain.read_lock();
            w.arrive();
            w.use_object(0);
        });
    });
}

/// The last handle finds that it is the last one, and frees without a grace period what a section of a handle
/// that was dropped before has used `[HND-1]`.
#[test]
fn the_last_handle_frees_what_another_one_s_section_has_used() {
    check("domain: handles", 3, || {
        let model = Model::new();
        let world = World::new(model);
        // SAFETY: the only use of this handle.
        let last = unsafe { std::ptr::read(model.own_domain(0)) };
        let other = last.clone();
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
