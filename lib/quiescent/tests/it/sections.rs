//! Sections: nesting, any order of drops, `read`, `repin`.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::common::{Numbers, SHORT, in_both_modes, until};
use quiescent::{
    Guard, SyncError, in_section, read, read_lock, start_grace_period, statistics, synchronize,
    synchronize_timeout,
};

/// Another thread asks for a grace period, and cannot have it while this thread is inside.
#[track_caller]
fn assert_holds_off_grace_periods() {
    let result = thread::scope(|scope| scope.spawn(|| synchronize_timeout(SHORT)).join());
    let result = result.expect("no panic");
    assert!(
        matches!(result, Err(SyncError::TimedOut { .. })),
        "{result:?} beside an open section"
    );
}

/// Grace periods end again, for others and for this thread.
#[track_caller]
fn assert_outside() {
    assert!(!in_section());
    let other = thread::scope(|scope| {
        scope
            .spawn(|| synchronize_timeout(crate::common::PATIENCE))
            .join()
    });
    assert_eq!(other.expect("no panic"), Ok(()));
    synchronize();
}

#[test]
fn sections_nest() {
    in_both_modes(|| {
        assert!(!in_section());
        let mut guards: Vec<Guard> = Vec::new();
        for _ in 0..5 {
            guards.push(read_lock());
            assert!(in_section());
        }
        while guards.pop().is_some() {
            assert_eq!(in_section(), !guards.is_empty());
            if !guards.is_empty() {
                assert_holds_off_grace_periods();
            }
        }
        assert_outside();
    });
}

#[test]
fn guards_drop_in_any_order() {
    in_both_modes(|| {
        let mut numbers = Numbers(1);
        for round in 0..300 {
            let mut guards: Vec<Guard> = (0..numbers.below(9) + 1).map(|_| read_lock()).collect();
            while !guards.is_empty() {
                assert!(in_section());
                if round % 50 == 0 {
                    assert_holds_off_grace_periods();
                }
                if numbers.below(4) == 0 {
                    guards.push(read_lock());
                }
                drop(guards.swap_remove(numbers.below(guards.len())));
                if numbers.below(4) == 0 && !guards.is_empty() {
                    drop(guards.swap_remove(0));
                }
            }
            assert!(!in_section());
        }
        assert_outside();
    });
}

#[test]
fn read_is_a_section_and_ends_on_panic() {
    in_both_modes(|| {
        let answer = read(|_guard| {
            assert!(in_section());
            read(|_inner| 41) + 1
        });
        assert_eq!(answer, 42);
        assert!(!in_section());
        let text = crate::common::panic_text(|| read(|_guard| panic!("inside")));
        assert_eq!(text, "inside");
        assert_outside();
    });
}

#[test]
fn sections_of_other_threads_are_theirs() {
    in_both_modes(|| {
        let reader = crate::common::Reader::inside("reader");
        assert!(!in_section());
        assert_holds_off_grace_periods();
        reader.end();
        assert_outside();
    });
}

#[test]
fn repin_lets_a_waiter_pass() {
    in_both_modes(|| {
        let done = AtomicBool::new(false);
        let mut guard = read_lock();
        for _ in 0..20 {
            done.store(false, Ordering::Relaxed);
            thread::scope(|scope| {
                scope.spawn(|| {
                    synchronize();
                    done.store(true, Ordering::Relaxed);
                });
                until("a grace period passes a section that repins", || {
                    guard.repin();
                    assert!(in_section());
                    done.load(Ordering::Relaxed)
                });
            });
        }
        // The section continued: a new grace period has to wait again.
        assert_holds_off_grace_periods();
        drop(guard);
        assert_outside();
    });
}

#[test]
fn repin_lets_pollers_pass() {
    in_both_modes(|| {
        let mut guard = read_lock();
        for _ in 0..20 {
            thread::scope(|scope| {
                let poller = scope.spawn(|| {
                    let cookie = start_grace_period();
                    until("polling gets there", || cookie.is_done());
                });
                until("a poller passes a section that repins", || {
                    guard.repin();
                    poller.is_finished()
                });
            });
        }
        drop(guard);
        assert_outside();
    });
}

#[test]
fn repin_does_nothing_beside_another_guard() {
    in_both_modes(|| {
        let mut outer = read_lock();
        let mut inner = read_lock();
        let before = statistics().grace_periods;
        thread::scope(|scope| {
            let waiter = scope.spawn(|| synchronize_timeout(10 * SHORT));
            while !waiter.is_finished() {
                outer.repin();
                inner.repin();
                assert!(in_section());
            }
            let result = waiter.join().expect("no panic");
            assert!(
                matches!(result, Err(SyncError::TimedOut { .. })),
                "{result:?}"
            );
        });
        assert_eq!(statistics().grace_periods, before);
        // With the other gone, in any order, it is the outermost.
        drop(outer);
        thread::scope(|scope| {
            let waiter = scope.spawn(synchronize);
            until("a grace period passes the inner guard", || {
                inner.repin();
                waiter.is_finished()
            });
        });
        drop(inner);
        assert_outside();
    });
}

#[test]
fn repin_without_a_waiter_changes_nothing() {
    in_both_modes(|| {
        synchronize();
        let before = statistics();
        let mut guard = read_lock();
        for _ in 0..100_000 {
            guard.repin();
        }
        assert!(in_section());
        drop(guard);
        let after = statistics();
        assert_eq!(
            before.registered + u32::from(before.registered == 0),
            after.registered
        );
        assert_eq!(
            (before.scans, before.reader_wakeups, before.wakeups),
            (after.scans, after.reader_wakeups, after.wakeups)
        );
    });
}
