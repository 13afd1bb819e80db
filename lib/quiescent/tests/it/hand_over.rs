//! The driver's successor: when a driver is satisfied, when its deadline passes, and when a waiter is asked
//! to drive at the moment its own deadline passes.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use crate::common::healed::Delays;
use crate::common::{Numbers, PATIENCE, Reader, SHORT, in_both_modes, sleepers, until};
use quiescent::{SyncError, read_lock, statistics, synchronize, synchronize_timeout};

#[test]
fn when_the_deadline_of_a_driver_passes_another_drives() {
    needs!(native);
    needs!(linux);
    in_both_modes(|| {
        for _ in 0..5 {
            let inside = Reader::inside("inside");
            let (sleeping, asked) = (statistics().sleeps, statistics().hand_overs);
            let (delays, taken) = (Delays::default(), statistics().takeovers);
            thread::scope(|scope| {
                let driver = scope.spawn(|| delays.of(|| synchronize_timeout(10 * SHORT)));
                until_it_sleeps(&driver, sleeping);
                let callers = sleepers(scope, 4, || delays.of(synchronize));
                let result = driver.join().expect("no panic");
                assert!(
                    matches!(result, Err(SyncError::TimedOut { .. })),
                    "{result:?}"
                );
                inside.end();
                callers
                    .into_iter()
                    .for_each(|caller| caller.join().expect("no panic"));
            });
            let now = statistics();
            assert!(now.hand_overs > asked, "no waiter was asked: {now:?}");
            // No thread was stopped: no waiter had to find out by itself that there is no driver.
            delays.explain(now.takeovers - taken);
        }
    });
}

#[test]
fn requests_to_drive_are_never_dropped() {
    in_both_modes(|| {
        let stop = AtomicBool::new(false);
        let (outcomes, calls) = ([AtomicU64::new(0), AtomicU64::new(0)], AtomicU32::new(0));
        thread::scope(|scope| {
            for seed in 0..2 {
                let stop = &stop;
                scope.spawn(move || {
                    let mut numbers = Numbers(seed);
                    while !stop.load(Ordering::Relaxed) {
                        let guard = read_lock();
                        thread::sleep(Duration::from_micros(numbers.next() % 200));
                        drop(guard);
                        if numbers.below(8) == 0 {
                            thread::yield_now();
                        }
                    }
                });
            }
            for seed in 0..6 {
                let (stop, outcomes) = (&stop, &outcomes);
                scope.spawn(move || {
                    let mut numbers = Numbers(seed);
                    while !stop.load(Ordering::Relaxed) {
                        // Some give up at once: on a busy machine the others may all be satisfied before they
                        // run again.
                        let timeout = Duration::from_micros([0, 75, 150][numbers.below(3)]);
                        let timed_out = synchronize_timeout(timeout).is_err();
                        outcomes[usize::from(timed_out)].fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            let patient: Vec<_> = (0..3)
                .map(|_| {
                    scope.spawn(|| {
                        // 400 times, and until both kinds of end have been there.
                        let both = || outcomes.iter().all(|it| it.load(Ordering::Relaxed) > 0);
                        for round in 0..400_000 {
                            if round >= 400 && both() {
                                break;
                            }
                            synchronize();
                            calls.fetch_add(1, Ordering::Relaxed);
                        }
                    })
                })
                .collect();
            patient
                .into_iter()
                .for_each(|caller| caller.join().expect("no panic"));
            stop.store(true, Ordering::Relaxed);
        });
        // Both kinds of end were exercised.
        assert!(
            outcomes
                .iter()
                .all(|count| count.load(Ordering::Relaxed) > 0),
            "{outcomes:?}"
        );
        assert!(calls.into_inner() >= 1200);
        assert_eq!(statistics().stalls, 0);
        assert_eq!(synchronize_timeout(PATIENCE), Ok(()));
    });
}

#[test]
fn a_request_that_comes_too_late_is_passed_on() {
    in_both_modes(|| {
        let mut numbers = Numbers(11);
        for _ in 0..100 {
            let inside = Reader::inside("inside");
            let sleeping = statistics().sleeps;
            let (delays, taken) = (Delays::default(), statistics().takeovers);
            // The driver and those next in line all give up at about the same time; the last has no
            // deadline, and no other thread will ever come.
            let end = Instant::now() + SHORT;
            thread::scope(|scope| {
                let delays = &delays;
                let driver = scope.spawn(move || delays.of(|| give_up_at(end)));
                until_it_sleeps(&driver, sleeping);
                let ends: Vec<Instant> = (0..4)
                    .map(|_| end + Duration::from_micros(numbers.next() % 150))
                    .collect();
                let next: Vec<_> = ends
                    .into_iter()
                    .map(|end| scope.spawn(move || delays.of(|| give_up_at(end))))
                    .collect();
                let patient = scope.spawn(|| delays.of(synchronize));
                next.into_iter()
                    .for_each(|caller| caller.join().expect("no panic"));
                driver.join().expect("no panic");
                inside.end();
                patient.join().expect("no panic");
            });
            delays.explain(statistics().takeovers - taken);
        }
    });
}

/// Waits until a driver sleeps, one more time than `before`, or has given up already.
fn until_it_sleeps<T>(driver: &ScopedJoinHandle<T>, before: u64) {
    until("the driver sleeps", || {
        statistics().sleeps > before || driver.is_finished()
    });
}

/// Waits for a grace period that cannot end before `end`.
fn give_up_at(end: Instant) {
    let result = synchronize_timeout(end.saturating_duration_since(Instant::now()));
    assert!(
        matches!(result, Err(SyncError::TimedOut { .. })),
        "{result:?}"
    );
}
