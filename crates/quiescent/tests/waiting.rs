//! Waiting together: deadlines, one grace period for many, and who drives when the driver leaves.

mod common;

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use common::{Isolated, Numbers, PATIENCE, Reader, SHORT, isolated, sleeps, until};
use quiescent::{
    SyncError, holdouts, read, read_lock, start_poll, statistics, synchronize,
    synchronize_expedited, synchronize_timeout, try_synchronize, wait,
};

fn in_both_modes(test: &str, body: fn()) {
    isolated(test, body);
    Isolated::new(test).fenced().run(body);
}

#[test]
fn a_deadline_names_who_is_in_the_way() {
    in_both_modes("a_deadline_names_who_is_in_the_way", || {
        let idle = Reader::idle("innocent");
        let inside = Reader::inside("stubborn");
        for deadline in [Duration::ZERO, SHORT, SHORT] {
            let error = synchronize_timeout(deadline).expect_err("a reader is inside");
            let text = error.to_string();
            let SyncError::TimedOut { holdouts } = error else {
                panic!("{error:?}")
            };
            assert_eq!(holdouts.len(), 1, "{holdouts:?}");
            assert_eq!(holdouts[0].thread_id, inside.thread_id);
            assert_eq!(holdouts[0].name.as_deref(), Some("stubborn"));
            assert_eq!(holdouts[0].nesting, 1);
            assert!(text.contains("\"stubborn\" (nesting 1)"), "{text}");
        }
        // The grace period that nobody drives any more is still there, and so is who it waits for.
        assert_eq!((statistics().busy, statistics().holdouts), (true, 1));
        assert_eq!(holdouts().len(), 1);
        inside.end();
        assert_eq!(synchronize_timeout(PATIENCE), Ok(()));
        assert_eq!((statistics().busy, statistics().holdouts), (false, 0));
        idle.end();
    });
}

#[test]
fn a_deadline_of_nothing_suffices_when_nobody_is_inside() {
    in_both_modes(
        "a_deadline_of_nothing_suffices_when_nobody_is_inside",
        || {
            let idle = Reader::idle("idle");
            for _ in 0..100 {
                assert_eq!(synchronize_timeout(Duration::ZERO), Ok(()));
                assert_eq!(synchronize_timeout(Duration::MAX), Ok(()));
            }
            idle.end();
        },
    );
}

#[test]
fn every_form_waits_for_a_grace_period() {
    in_both_modes("every_form_waits_for_a_grace_period", || {
        type Form = fn(quiescent::Cookie);
        let forms: [Form; 5] = [
            |_| synchronize(),
            |_| synchronize_expedited(),
            |_| try_synchronize().expect("nothing is wrong"),
            |_| synchronize_timeout(PATIENCE).expect("the reader leaves"),
            wait,
        ];
        for form in forms {
            let inside = Reader::inside("inside");
            let done = AtomicBool::new(false);
            let sleeping = statistics().sleeps;
            thread::scope(|scope| {
                let (done, cookie) = (&done, start_poll());
                scope.spawn(move || {
                    form(cookie);
                    done.store(true, Ordering::Relaxed);
                });
                until("the driver sleeps", || statistics().sleeps > sleeping);
                assert!(!done.load(Ordering::Relaxed), "it did not wait");
                inside.end();
            });
            assert!(done.load(Ordering::Relaxed));
        }
        // Had a wake-up been lost, a driver would have slept until it counts a stall.
        assert_eq!(statistics().stalls, 0);
    });
}

/// Starts `count` threads that call `f`, and waits until all of them sleep.
fn sleepers<'s>(
    scope: &'s thread::Scope<'s, '_>,
    count: usize,
    f: impl Fn() + Copy + Send + 's,
) -> Vec<thread::ScopedJoinHandle<'s, ()>> {
    let (sender, ids) = mpsc::channel();
    let threads = (0..count)
        .map(|_| {
            let sender = sender.clone();
            scope.spawn(move || {
                sender.send(common::thread_id()).expect("the test waits");
                f();
            })
        })
        .collect();
    let ids: Vec<u32> = ids.iter().take(count).collect();
    until("all of them wait", || ids.iter().all(|&id| sleeps(id)));
    threads
}

#[test]
fn many_callers_share_grace_periods() {
    in_both_modes("many_callers_share_grace_periods", || {
        const CALLERS: usize = 24;
        for _ in 0..5 {
            let inside = Reader::inside("inside");
            let before = statistics();
            thread::scope(|scope| {
                let callers = sleepers(scope, CALLERS, synchronize);
                inside.end();
                callers
                    .into_iter()
                    .for_each(|caller| caller.join().expect("no panic"));
            });
            let after = statistics();
            // One for the first caller, one for the rest; a few more if some came late.
            let periods = after.grace_periods - before.grace_periods;
            assert!(
                (2..CALLERS as u64 / 2).contains(&periods),
                "{periods} for {CALLERS} calls"
            );
            // The first was satisfied while others waited, and left.
            assert!(after.hand_overs > before.hand_overs, "{after:?}");
        }
        assert_eq!(statistics().stalls, 0);
    });
}

#[test]
fn when_the_deadline_of_a_driver_passes_another_drives() {
    in_both_modes(
        "when_the_deadline_of_a_driver_passes_another_drives",
        || {
            for _ in 0..5 {
                let inside = Reader::inside("inside");
                let sleeping = statistics().sleeps;
                thread::scope(|scope| {
                    let driver = scope.spawn(|| synchronize_timeout(10 * SHORT));
                    until("the driver sleeps", || statistics().sleeps > sleeping);
                    let callers = sleepers(scope, 4, synchronize);
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
            }
            assert_eq!(statistics().stalls, 0);
        },
    );
}

#[test]
fn requests_to_drive_are_never_dropped() {
    in_both_modes("requests_to_drive_are_never_dropped", || {
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
                        let timeout = Duration::from_micros(numbers.next() % 150);
                        let timed_out = synchronize_timeout(timeout).is_err();
                        outcomes[usize::from(timed_out)].fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            let patient: Vec<_> = (0..3)
                .map(|_| {
                    scope.spawn(|| {
                        for _ in 0..400 {
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
        assert_eq!((calls.into_inner(), statistics().stalls), (1200, 0));
        assert_eq!(synchronize_timeout(PATIENCE), Ok(()));
    });
}

#[test]
fn callers_that_come_all_at_once_all_return() {
    in_both_modes("callers_that_come_all_at_once_all_return", || {
        const CALLERS: usize = 40;
        let barrier = Barrier::new(CALLERS);
        thread::scope(|scope| {
            for caller in 0..CALLERS {
                let barrier = &barrier;
                scope.spawn(move || {
                    for round in 0..50 {
                        barrier.wait();
                        read(|_| ());
                        match (caller + round) % 3 {
                            0 => synchronize_expedited(),
                            _ => synchronize(),
                        }
                    }
                });
            }
        });
        assert_eq!((statistics().stalls, statistics().busy), (0, false));
    });
}
