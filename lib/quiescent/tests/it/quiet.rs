//! Rule R5, checked by counters: nothing runs that no thread needs, and what is needed costs as little as
//! promised.

use std::thread;
use std::time::{Duration, Instant};

use crate::common::{Isolated, Reader, in_both_modes, isolated, until, until_threads};
use quiescent::stats::Statistics;
use quiescent::{FenceMode, RcuCell, read, statistics, synchronize};

/// Everything that the library does of itself.
fn work(s: Statistics) -> [(&'static str, u64); 9] {
    [
        ("grace_periods", s.grace_periods),
        ("scans", s.scans),
        ("fences_gp", s.fences_gp),
        ("fences_flag", s.fences_flag),
        ("wakeups", s.wakeups),
        ("reader_wakeups", s.reader_wakeups),
        ("sleeps", s.sleeps),
        ("hand_overs", s.hand_overs),
        ("helper_threads", s.helper_threads),
    ]
}

#[test]
fn without_waiters_nothing_happens() {
    needs!(native);
    in_both_modes(|| {
        // Something has happened before: all machinery exists that ever will.
        let inside = Reader::inside("inside");
        assert!(quiescent::synchronize_timeout(crate::common::SHORT).is_err());
        inside.end();
        synchronize();
        let idle: Vec<_> = (0..3).map(|_| Reader::idle("idle")).collect();
        let cell = RcuCell::new(5u64);
        let before = statistics();
        assert!(!before.busy);
        let threads = 2 + idle.len(); // libtest's, this one, and those
        until_threads(threads);
        for round in 0..20 {
            let readers: Vec<_> = (0..2)
                .map(|_| {
                    thread::scope(|scope| {
                        scope
                            .spawn(|| (0..20_000).map(|_| read(|g| *cell.load(g))).sum::<u64>())
                            .join()
                            .expect("no panic")
                    })
                })
                .collect();
            assert_eq!(readers, [100_000; 2]);
            let mut guard = quiescent::read_lock();
            (0..1000).for_each(|_| guard.repin());
            drop(guard);
            let now = statistics();
            assert_eq!(work(now), work(before), "round {round}");
            assert_eq!((now.busy, now.holdouts), (false, 0));
            until_threads(threads);
        }
        idle.into_iter().for_each(Reader::end);
    });
}

#[test]
fn a_sole_thread_needs_no_fence() {
    in_both_modes(|| {
        // Not registered at all, then the only one registered.
        for registered in [0, 1] {
            let before = statistics();
            assert_eq!(before.registered, registered);
            for _ in 0..1000 {
                synchronize();
            }
            let after = statistics();
            assert_eq!(after.grace_periods - before.grace_periods, 1000);
            assert_eq!(after.grace_periods_sole - before.grace_periods_sole, 1000);
            assert_eq!((after.fences_gp, after.fences_flag), (0, 0));
            assert_eq!(
                (after.sleeps, after.wakeups, after.reader_wakeups),
                (0, 0, 0)
            );
            read(|_| ());
        }
    });
}

#[test]
fn one_fence_a_grace_period_when_others_are_outside() {
    in_both_modes(|| {
        for others in [1, 3, 70] {
            let idle: Vec<_> = (0..others).map(|_| Reader::idle("idle")).collect();
            for register_self in [false, true] {
                if register_self {
                    read(|_| ());
                }
                let before = statistics();
                for _ in 0..500 {
                    synchronize();
                }
                let after = statistics();
                assert_eq!(after.grace_periods - before.grace_periods, 500);
                assert_eq!(after.fences_gp - before.fences_gp, 500);
                assert_eq!(after.scans - before.scans, 500, "one look each");
                assert_eq!(after.fences_flag, 0);
                assert_eq!(
                    (after.sleeps, after.wakeups, after.reader_wakeups),
                    (0, 0, 0)
                );
            }
            idle.into_iter().for_each(Reader::end);
        }
    });
}

/// No delay between scans, as a kernel has one, could save anything: there are no scans. Of readers that
/// execute fences there are a few, less and less often, since such a one may leave unheard.
#[test]
fn a_driver_looks_at_nothing_while_it_waits_for_a_reader() {
    in_both_modes(|| {
        let reader = Reader::inside("in the way");
        let before = statistics();
        thread::scope(|scope| {
            scope.spawn(synchronize);
            until("the driver sleeps", || statistics().sleeps > before.sleeps);
            let (asleep, since) = (statistics(), Instant::now());
            thread::sleep(Duration::from_millis(200));
            let later = statistics();
            // The naps: 0.1 ms, and each twice as long as the one before.
            let naps = match later.fence_mode {
                FenceMode::Membarrier => 0,
                _ => (since.elapsed().as_micros() / 100).ilog2() as u64 + 2,
            };
            let looks = later.scans - asleep.scans;
            assert!(looks <= naps, "{looks} looks, not {naps}");
            assert!(later.sleeps - asleep.sleeps <= naps);
            reader.end();
        });
        let after = statistics();
        if after.fence_mode == FenceMode::Membarrier {
            assert_eq!(after.sleeps - before.sleeps, 1);
            assert_eq!(after.reader_wakeups - before.reader_wakeups, 1);
        }
    });
}

#[test]
fn a_caller_is_not_sole_beside_one_other() {
    in_both_modes(|| {
        // One thread is registered, but it is not the caller: a count of one is not enough.
        let idle = Reader::idle("idle");
        assert_eq!(statistics().registered, 1);
        synchronize();
        let after = statistics();
        assert_eq!(
            (
                after.grace_periods,
                after.grace_periods_sole,
                after.fences_gp
            ),
            (1, 0, 1)
        );
        idle.end();
        synchronize();
        let after = statistics();
        assert_eq!(
            (
                after.grace_periods,
                after.grace_periods_sole,
                after.fences_gp
            ),
            (2, 1, 1)
        );
    });
}

#[test]
fn the_fence_mode_is_what_it_was_asked_to_be() {
    needs!(fence);
    isolated(|| {
        // Where the kernel has no membarrier this is fenced too; the machines we test on have it.
        assert_eq!(statistics().fence_mode, FenceMode::Membarrier);
    });
    Isolated::new().fenced().run(|| {
        assert_eq!(statistics().fence_mode, FenceMode::Fenced);
    });
}
