//! No free slots: further threads share two counters, slowly and correctly.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use crate::common::oracle::Plan;
use crate::common::{PATIENCE, Reader, SHORT, in_both_modes, on_thread, until};
use quiescent::{
    Guard, Options, SyncError, in_section, read, read_lock, start_grace_period, statistics,
    synchronize, synchronize_timeout, try_synchronize,
};

/// Threads that one leaf of slots serves.
const SLOTS: usize = 62;

/// Runs `body` in both fence modes, in a process where every slot is taken by an idle thread.
fn without_slots(body: fn(Vec<Reader>)) {
    let start = || {
        Options::new().max_threads(1).apply().expect("one leaf");
        let idle: Vec<_> = (0..SLOTS).map(|_| Reader::idle("has a slot")).collect();
        assert_eq!(
            (statistics().registered, statistics().unregistered_sections),
            (SLOTS as u32, 0)
        );
        body(idle);
    };
    in_both_modes(start);
}

#[track_caller]
fn assert_waits() {
    let other = thread::scope(|scope| scope.spawn(|| synchronize_timeout(SHORT)).join());
    let Err(SyncError::TimedOut { holdouts }) = other.expect("no panic") else {
        panic!("a grace period ended beside an open section");
    };
    assert_eq!(holdouts.len(), 1, "{holdouts:?}");
    assert_eq!(holdouts[0].thread_id, 0);
    assert_eq!(
        holdouts[0].name.as_deref(),
        Some("(threads without a slot)")
    );
}

#[test]
fn unregistered_sections_are_sections() {
    without_slots(|idle| {
        for n in 1..5 {
            let mut guards: Vec<Guard> = (0..n).map(|_| read_lock()).collect();
            while !guards.is_empty() {
                assert!(in_section());
                assert_waits();
                drop(guards.remove(0));
            }
            assert!(!in_section());
            assert_eq!(synchronize_timeout(PATIENCE), Ok(()));
        }
        assert_eq!(statistics().unregistered_sections, 1 + 2 + 3 + 4);
        assert_eq!(statistics().registered, SLOTS as u32);
        idle.into_iter().for_each(Reader::end);
    });
}

/// A grace period has seen that side of the unregistered readers empty to which newcomers are sent: the guard
/// that is dropped last is not there.
#[test]
fn a_section_stays_on_its_side() {
    without_slots(|idle| {
        let first = read_lock();
        assert_waits(); // this grace period goes on, and newcomers go to the other side
        let last = read_lock();
        drop(first);
        assert_waits();
        drop(last);
        assert_eq!(synchronize_timeout(PATIENCE), Ok(()));
        idle.into_iter().for_each(Reader::end);
    });
}

/// A thread inside a section does not take a slot that becomes free: a grace period in progress does not scan
/// that slot again.
#[test]
fn a_section_gets_no_slot_half_way() {
    without_slots(|mut idle| {
        let first = read_lock();
        assert_waits();
        idle.pop().expect("one of them").end();
        quiescent::defer(|| ()); // would register the thread, elsewhere
        let last = read_lock();
        drop(first);
        assert_waits();
        drop(last);
        assert_eq!(synchronize_timeout(PATIENCE), Ok(()));
        let registered = statistics().registered;
        drop(read_lock());
        assert_eq!(statistics().registered, registered + 1, "now it has one");
        idle.into_iter().for_each(Reader::end);
    });
}

#[test]
fn misuse_of_unregistered_sections_is_found() {
    without_slots(|idle| {
        let guard = read_lock();
        assert_eq!(try_synchronize(), Err(SyncError::InsideSection));
        assert_eq!(synchronize_timeout(PATIENCE), Err(SyncError::InsideSection));
        let cookie = start_grace_period();
        assert!((0..200).all(|_| !cookie.is_done()));
        drop(guard);
        until("polling gets there", || cookie.is_done());
        assert_eq!(try_synchronize(), Ok(()));
        idle.into_iter().for_each(Reader::end);
    });
}

#[test]
fn an_unregistered_section_wakes_the_driver() {
    without_slots(|idle| {
        for round in 0..20 {
            let mut guard = read_lock();
            thread::scope(|scope| {
                let sleeping = statistics().sleeps;
                let waiter = scope.spawn(synchronize);
                if round % 2 == 0 {
                    until("the driver sleeps", || statistics().sleeps > sleeping);
                }
                if round % 4 < 2 {
                    until("a grace period passes a section that repins", || {
                        guard.repin();
                        waiter.is_finished()
                    });
                    assert!(in_section());
                }
                drop(guard);
            });
        }
        assert_eq!(statistics().stalls, 0);
        idle.into_iter().for_each(Reader::end);
    });
}

#[test]
fn unregistered_readers_never_read_what_is_freed() {
    without_slots(|idle| {
        let sections = Plan {
            readers: 4,
            churners: 1,
            updaters: 2,
            updates: 500,
        }
        .run();
        let after = statistics();
        assert!(
            after.unregistered_sections >= sections.min(1000),
            "{after:?}"
        );
        assert_eq!(
            (after.stalls, after.leaked, after.registered),
            (0, 0, SLOTS as u32)
        );
        idle.into_iter().for_each(Reader::end);
    });
}

#[test]
fn a_mixture_never_reads_what_is_freed() {
    without_slots(|mut idle| {
        // A few slots are free: threads get one, or not, as others come and go.
        idle.drain(..3).for_each(Reader::end);
        Plan {
            readers: 5,
            churners: 3,
            updaters: 2,
            updates: 500,
        }
        .run();
        let after = statistics();
        assert!(after.unregistered_sections > 0, "{after:?}");
        assert_eq!((after.stalls, after.leaked), (0, 0));
        idle.into_iter().for_each(Reader::end);
        until("all threads are gone", || statistics().registered == 0);
    });
}

#[test]
fn readers_that_overlap_for_ever_starve_no_waiter() {
    without_slots(|idle| {
        const READERS: usize = 3;
        let (stop, turn) = (AtomicBool::new(false), AtomicUsize::new(0));
        let inside = AtomicUsize::new(0);
        thread::scope(|scope| {
            for me in 0..READERS {
                let (stop, turn, inside) = (&stop, &turn, &inside);
                // Only whose turn it is leaves, and is inside again before it is another's turn: the
                // unregistered is never empty.
                scope.spawn(move || {
                    let mut guard = Some(read_lock());
                    inside.fetch_add(1, Ordering::Relaxed);
                    while !stop.load(Ordering::Relaxed) {
                        if inside.load(Ordering::Relaxed) == READERS
                            && turn.load(Ordering::Acquire) == me
                        {
                            drop(guard.take());
                            guard = Some(read_lock());
                            turn.store((me + 1) % READERS, Ordering::Release);
                        }
                        thread::yield_now();
                    }
                });
            }
            until("all are inside", || {
                inside.load(Ordering::Relaxed) == READERS
            });
            let driving = scope.spawn(|| (0..100).for_each(|_| synchronize()));
            until("grace periods end", || driving.is_finished());
            for _ in 0..20 {
                let cookie = start_grace_period();
                until("polling gets there", || cookie.is_done());
            }
            stop.store(true, Ordering::Relaxed);
        });
        assert_eq!(statistics().stalls, 0);
        idle.into_iter().for_each(Reader::end);
    });
}

#[test]
fn a_slot_becomes_free_while_a_thread_is_unregistered() {
    without_slots(|mut idle| {
        for unregistered_first in [true, false] {
            let (freed, is_freed) = mpsc::channel();
            let (full, is_full) = mpsc::channel();
            let thread = thread::spawn(move || {
                let unregistered = read_lock();
                full.send(()).expect("the test waits");
                is_freed.recv().expect("the test frees a slot");
                let nested = read_lock();
                let (first, second) = if unregistered_first {
                    (unregistered, nested)
                } else {
                    (nested, unregistered)
                };
                drop(first);
                assert!(in_section());
                assert_eq!(try_synchronize(), Err(SyncError::InsideSection));
                let other = on_thread("other", || synchronize_timeout(SHORT));
                assert!(
                    matches!(other, Err(SyncError::TimedOut { .. })),
                    "{other:?}"
                );
                drop(second);
                assert!(!in_section());
                assert_eq!(try_synchronize(), Ok(()));
                assert_eq!(statistics().registered as usize, SLOTS - 1);
                drop(read_lock()); // outside it gets the slot
                statistics().registered
            });
            is_full.recv().expect("the thread reads");
            idle.pop().expect("many").end();
            freed.send(()).expect("the thread waits");
            let registered = thread.join().expect("no panic");
            assert_eq!(registered as usize, SLOTS);
            idle.push(Reader::idle("has a slot"));
        }
        idle.into_iter().for_each(Reader::end);
    });
}

#[test]
fn an_unregistered_guard_that_is_leaked_is_a_holdout() {
    without_slots(|idle| {
        on_thread("leaky", || std::mem::forget(read_lock()));
        assert_waits();
        assert_waits();
        read(|_| ());
        idle.into_iter().for_each(Reader::end);
        assert_waits();
        assert_eq!(statistics().registered, 0);
    });
}
