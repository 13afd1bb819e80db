//! Cookies: requesting a grace period without waiting, and completing it by polling.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::common::{Reader, in_both_modes, isolated, until};
use quiescent::{Cookie, in_section, read, read_lock, start_grace_period, statistics, synchronize};

#[test]
fn completed_is_done_from_the_start() {
    in_both_modes(|| {
        assert!(Cookie::COMPLETED.is_done());
        read(|_| assert!(Cookie::COMPLETED.is_done()));
        Cookie::COMPLETED.wait();
        assert_eq!(statistics().grace_periods, 0);
        for _ in 0..10 {
            synchronize();
            assert!(Cookie::COMPLETED.is_done());
        }
    });
}

#[test]
fn a_cookie_requests_and_the_next_waiter_serves_it() {
    in_both_modes(|| {
        let before = statistics();
        let cookie = start_grace_period();
        let asked = statistics();
        assert!(asked.busy);
        assert_eq!(
            asked.grace_periods, before.grace_periods,
            "asking drives nothing"
        );
        synchronize();
        assert!(cookie.is_done());
        assert_eq!(
            statistics().grace_periods,
            before.grace_periods + 1,
            "one served both"
        );
        assert!(!statistics().busy);
        // It stays done.
        for _ in 0..100 {
            synchronize();
            assert!(cookie.is_done());
        }
        cookie.wait();
        assert_eq!(statistics().grace_periods, before.grace_periods + 101);
    });
}

#[test]
fn inside_a_section_its_own_cookies_are_never_done() {
    in_both_modes(|| {
        for idles in 0..3 {
            let idle: Vec<_> = (0..idles).map(|_| Reader::idle("idle")).collect();
            let earlier = start_grace_period();
            let guard = read_lock();
            let own = start_grace_period();
            let nested = read(|_| start_grace_period());
            for _ in 0..200 {
                assert!(!own.is_done());
                assert!(!nested.is_done());
                assert!(in_section());
            }
            assert!(
                !earlier.is_done(),
                "it was not served before the section opened"
            );
            drop(guard);
            for cookie in [own, nested, earlier] {
                until("polling gets there", || cookie.is_done());
            }
            idle.into_iter().for_each(Reader::end);
        }
    });
}

#[test]
fn a_section_of_another_thread_holds_off_polls() {
    in_both_modes(|| {
        let inside = Reader::inside("inside");
        let cookie = start_grace_period();
        for _ in 0..200 {
            assert!(!cookie.is_done());
        }
        // Polls do not affect a reader inside a section; the cookie of another thread is not its own.
        read(|_| assert!(!cookie.is_done()));
        inside.end();
        until("polling gets there", || cookie.is_done());
    });
}

#[test]
fn polling_alone_gets_there_beside_idle_threads() {
    in_both_modes(|| {
        let idle: Vec<_> = (0..3).map(|_| Reader::idle("idle")).collect();
        let before = statistics();
        for _ in 0..100 {
            let cookie = start_grace_period();
            until("polling gets there", || cookie.is_done());
        }
        let after = statistics();
        let periods = after.grace_periods - before.grace_periods;
        assert!((1..=200).contains(&periods), "{periods}");
        assert_eq!(
            (after.sleeps, after.helper_threads),
            (0, 0),
            "no thread waited"
        );
        idle.into_iter().for_each(Reader::end);
    });
}

#[test]
fn polling_alone_gets_there_beside_readers_in_loops() {
    in_both_modes(|| {
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            let repinning = scope.spawn(|| {
                let mut guard = read_lock();
                while !stop.load(Ordering::Relaxed) {
                    guard.repin();
                }
            });
            let reopening = scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    read(|_| read(|_| std::hint::spin_loop()));
                }
            });
            until("both are registered", || statistics().registered == 2);
            for _ in 0..50 {
                let cookie = start_grace_period();
                until("polling gets there", || cookie.is_done());
            }
            assert!(!repinning.is_finished() && !reopening.is_finished());
            stop.store(true, Ordering::Relaxed);
        });
    });
}

#[test]
fn pollers_and_waiters_serve_each_other() {
    in_both_modes(|| {
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        read(|_| thread::yield_now());
                    }
                });
            }
            let workers: Vec<_> = (0..4)
                .map(|worker| {
                    scope.spawn(move || {
                        for _ in 0..500 {
                            let cookie = start_grace_period();
                            match worker {
                                0 => synchronize(),
                                1 => cookie.wait(),
                                _ => until("polling gets there", || cookie.is_done()),
                            }
                            assert!(cookie.is_done());
                        }
                    })
                })
                .collect();
            let ends: Vec<_> = workers.into_iter().map(|worker| worker.join()).collect();
            stop.store(true, Ordering::Relaxed);
            assert!(ends.iter().all(Result::is_ok));
        });
        assert_eq!(statistics().stalls, 0);
    });
}

/// Cookies are keys: equal ones have one hash, others have others.
#[test]
fn cookies_of_different_times_have_different_hashes() {
    isolated(|| {
        use std::hash::{BuildHasher, RandomState};
        let state = RandomState::new();
        let mut hashes = std::collections::HashSet::new();
        for n in 1..=10 {
            let cookie = start_grace_period();
            let copy = cookie;
            assert_eq!(state.hash_one(cookie), state.hash_one(copy));
            hashes.insert(state.hash_one(cookie));
            assert_eq!(hashes.len(), n);
            synchronize();
        }
    });
}
