//! The membarrier mode under C11: its fast paths with their own orderings, and light fences that pair with
//! heavy ones and with nothing else (see `check/models/src/loom.rs`).

use std::sync::Arc;

use crate::common::watched::Watched;
use crate::common::{
    World, check_unfenced, has_waited, join, no_slot_is_left, race, race_inside, race_with_poller,
    registers, thread_of, waits,
};
use crate::side::{Process, Side, nothing, read};
use quiescent_on_loom as rcu;
use rcu::check::Model as Domain;

#[test]
fn a_section_s_reads_come_before_what_follows_the_grace_period() {
    check_unfenced("membarrier: unlock", 4, || {
        race_inside(|w, _: Process| {
            let _guard = rcu::read_lock();
            w.arrive();
            w.use_object(0);
        });
    });
}

#[test]
fn a_new_generation_says_that_the_old_section_is_over() {
    check_unfenced("membarrier: next section", 4, || {
        race_inside(|w, _: Process| {
            let guard = rcu::read_lock();
            w.arrive();
            w.use_object(0);
            drop(guard);
            // The scan may find the thread inside, with another generation, and nested or not.
            let _next = rcu::read_lock();
            drop(rcu::read_lock());
        });
    });
}

#[test]
fn reader_against_updater() {
    check_unfenced("membarrier: reader", 4, || race(nothing, [read::<Process>]));
}

#[test]
fn two_sections_and_a_repin() {
    check_unfenced("membarrier: repin", 4, || {
        let reader = |w: &World, process: Process| {
            let mut guard = rcu::read_lock();
            w.look();
            guard.repin();
            w.look();
            drop(guard);
            process.read_once(w);
        };
        race(nothing, [reader]);
    });
}

#[test]
fn a_waiter_is_satisfied_by_another_who_drives() {
    check_unfenced("membarrier: waiter", 4, || {
        race(nothing, [read::<Process>, waits])
    });
}

#[test]
fn registered_updater_against_a_newcomer() {
    check_unfenced("membarrier: sole updater", 4, || race(registers, [read]));
}

#[test]
fn one_call_against_a_newcomer() {
    check_unfenced("membarrier: one call", 4, || race(has_waited, [read]));
}

#[test]
fn unregistered_readers() {
    check_unfenced("membarrier: unregistered readers", 4, || {
        race(no_slot_is_left, [read])
    });
}

#[test]
fn a_poller_frees_what_another_waited_for() {
    check_unfenced("membarrier: poller", 3, race_with_poller);
}

/// Each of two threads writes to what is kept by its index, which may be that of a thread that has ended.
#[test]
fn owners_of_an_index_follow_one_another() {
    check_unfenced("membarrier: index", 3, || {
        let domain = Domain::new();
        let kept = Arc::new([0; 4].map(Watched::new));
        let write = |kept: &[Watched; 4]| {
            kept[rcu::thread_index().expect("a slot is free")].replace(1);
        };
        let other = thread_of(domain, &kept, write);
        domain.enter();
        write(&kept);
        domain.leave();
        join(other);
    });
}
