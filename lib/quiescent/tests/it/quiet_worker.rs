//! Rule R5 with deferral, checked by counters: no thread before it is needed, nothing runs when nothing is
//! queued, and a trickle wakes the worker as rarely as promised.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::deferral::{
    Ledger, flag, library_switches, library_threads, queue_somehow, until_at_rest,
};
use crate::common::{Reader, healed, in_both_modes, isolated, on_thread, until};
use quiescent::stats::{Flushes, Statistics};
use quiescent::tuning::{FlushTimes, PROMPT, set_flush_times};
use quiescent::{
    RcuCell, Retired, barrier, defer, defer_hurry, drain, read, statistics, synchronize,
};

/// Everything that the library does of itself.
fn work(s: Statistics) -> [(&'static str, u64); 14] {
    [
        ("grace_periods", s.grace_periods),
        ("scans", s.scans),
        ("fences_gp", s.fences_gp),
        ("fences_flag", s.fences_flag),
        ("fences_take", s.fences_take),
        ("wakeups", s.wakeups),
        ("reader_wakeups", s.reader_wakeups),
        ("sleeps", s.sleeps),
        ("hand_overs", s.hand_overs),
        ("worker_passes", s.worker_passes),
        ("worker_errors", s.worker_errors),
        ("callbacks", s.callbacks),
        ("helper_threads", s.helper_threads),
        ("switches of its threads", library_switches()),
    ]
}

#[test]
fn who_never_queues_has_no_thread_and_no_timer() {
    in_both_modes(|| {
        let cell = RcuCell::new(1);
        let idle = Reader::idle("idle");
        for n in 0..100 {
            read(|guard| *cell.load(guard));
            drop(cell.store(n).wait());
            drop(Retired::wait_all([cell.store(n), cell.store(n)]));
            synchronize();
            barrier();
            drain(Duration::ZERO);
        }
        idle.end();
        let now = statistics();
        assert_eq!((now.helper_threads, now.worker_passes), (0, 0));
        assert_eq!((now.timer_armed, now.fences_take), (false, 0));
        assert_eq!(library_threads(), [0; 0]);
        let descriptors = std::fs::read_dir("/proc/self/fd").expect("/proc");
        let ours = descriptors.flatten().filter(|fd| {
            std::fs::read_link(fd.path())
                .is_ok_and(|link| link.to_string_lossy().contains("[timerfd]"))
        });
        assert_eq!(ours.count(), 0);
    });
}

#[test]
fn once_all_is_gone_nothing_happens() {
    needs!(silent_timer);
    in_both_modes(|| {
        let idle: Vec<_> = (0..2).map(|_| Reader::idle("idle")).collect();
        let ledger = Ledger::new(9000);
        for index in 0..3000 {
            queue_somehow(ledger.thing(index), index);
            queue_somehow(ledger.thing(6000 + index), index & !1);
        }
        on_thread("departed", move || {
            (3000..6000).for_each(|index| queue_somehow(ledger.thing(index), index));
        });
        barrier();
        ledger.assert_all_once();
        until_at_rest();
        let before = work(statistics());
        for _ in 0..30 {
            thread::sleep(Duration::from_millis(50));
            read(|_| ());
            assert_eq!(work(statistics()), before);
            assert!(!statistics().timer_armed);
        }
        assert!(library_threads().len() <= 2);
        idle.into_iter().for_each(Reader::end);
    });
}

#[test]
fn an_active_thread_that_has_emptied_its_queue_is_left_alone() {
    in_both_modes(|| {
        // It never stops; what it retires is freed before the next check.
        let cell = RcuCell::new(0u64);
        for round in 0..5 {
            (0..2000).for_each(|n| drop(cell.store(n)));
            match round % 2 {
                0 => barrier(),
                _ => assert_eq!(drain(crate::common::PATIENCE).left, 0),
            }
            until_at_rest();
            let before = work(statistics());
            thread::sleep(Duration::from_millis(200));
            assert_eq!(work(statistics()), before, "round {round}");
        }
    });
}

/// How often the worker was woken while `f` ran, and its switches.
fn wakes(f: impl FnOnce()) -> (u64, u64) {
    let (passes, switches) = (statistics().worker_passes, library_switches());
    f();
    (
        statistics().worker_passes - passes,
        library_switches() - switches,
    )
}

#[test]
fn a_lazy_trickle_wakes_the_worker_once_in_ten_seconds() {
    in_both_modes(|| {
        let cell = RcuCell::new(vec![0]);
        let plain = RcuCell::new(0u64);
        drop(cell.store(vec![1])); // starts the worker
        barrier();
        until_at_rest();
        let start = Instant::now();
        let (passes, switches) = wakes(|| {
            for n in 0..300 {
                drop(cell.store(vec![n]));
                drop(plain.store(n));
                thread::sleep(Duration::from_millis(10));
            }
        });
        let allowed = 1 + start.elapsed().as_secs() / 10;
        assert!(passes <= allowed, "{passes} in {:?}", start.elapsed());
        assert!(switches <= 5 * allowed, "{switches}");
        assert!(statistics().queued > 0 || passes > 0);
        assert!(statistics().timer_armed, "a timer is set");
        barrier();
        assert_eq!(statistics().queued, 0);
    });
}

#[test]
fn a_trickle_of_calls_wakes_the_worker_twenty_times_a_second() {
    in_both_modes(|| {
        static RAN: AtomicU64 = AtomicU64::new(0);
        defer(|| ());
        barrier();
        until_at_rest();
        let start = Instant::now();
        let mut called = 0;
        let (passes, switches) = wakes(|| {
            while start.elapsed() < Duration::from_millis(1500) {
                defer(|| {
                    RAN.fetch_add(1, Ordering::Relaxed);
                });
                called += 1;
                thread::sleep(Duration::from_millis(5));
            }
        });
        let periods = start.elapsed().as_millis() as u64 / 50;
        assert!(passes <= periods + 4, "{passes} in {periods} periods");
        // A pass may wait for a grace period, and the stand-by thread wakes up once a second.
        assert!(switches <= 4 * (periods + 4), "{switches}");
        until("all ran", || RAN.load(Ordering::Relaxed) == called);
    });
}

#[test]
fn a_call_runs_without_help_of_the_program() {
    in_both_modes(|| {
        // Prompt ones from a thread that goes quiet, and from one that is gone. What is lazy waits for days,
        // so only the time of prompt ones can be the reason.
        let lazy = Duration::from_secs(1_000_000);
        set_flush_times(FlushTimes {
            lazy,
            prompt: PROMPT,
        });
        for _ in 0..3 {
            let before = statistics();
            let (ours, theirs) = (flag(), flag());
            defer(|| ours.store(true, Ordering::Release));
            on_thread("departed", || {
                defer(|| theirs.store(true, Ordering::Release))
            });
            until("they run", || {
                ours.load(Ordering::Acquire) && theirs.load(Ordering::Acquire)
            });
            let (before, now) = (before.flushes, statistics().flushes);
            assert!(now.prompt > before.prompt, "{now:?}");
            let others = |f: Flushes| [f.lazy, f.batch, f.hurry, f.barrier, f.budget, f.pressure];
            assert_eq!(others(now), others(before), "prompt ones are not");
        }
        until_at_rest();
    });
}

/// A timer is set that would do the work of a kick, too, only later: `late_wakeups` counts that.
#[test]
fn what_is_in_a_hurry_is_not_left_to_the_timer() {
    in_both_modes(|| {
        let soon = Duration::from_millis(100);
        set_flush_times(FlushTimes {
            lazy: soon,
            prompt: soon,
        });
        let ready = healed::ready();
        for round in 0..6 {
            drop(RcuCell::new(1u64).store(2)); // sets the timer
            let ran = flag();
            defer_hurry(|| ran.store(true, Ordering::Release));
            until("it runs", || ran.load(Ordering::Acquire));
            until("all of it goes", || statistics().queued == 0);
            let now = statistics();
            // Nothing here keeps the worker, but a processor that it does not get.
            let allowed = healed::late_within(healed::ready() - ready);
            assert!(now.late_wakeups <= allowed, "round {round}: {now:?}");
        }
    });
}

/// A timer that comes too early is set again, and what it is for still goes: once too often.
#[test]
fn a_flush_wakes_the_worker_once_by_the_timer() {
    in_both_modes(|| {
        defer(|| ()); // starts the worker
        barrier();
        until_at_rest();
        let soon = Duration::from_millis(100);
        set_flush_times(FlushTimes {
            lazy: soon,
            prompt: soon,
        });
        for round in 0..5 {
            let before = statistics();
            drop(RcuCell::new(vec![1]).store(vec![2]));
            until("it goes", || statistics().queued == 0);
            until_at_rest();
            let now = statistics();
            let woken = now.worker_wakeups.timer - before.worker_wakeups.timer;
            let passes = now.worker_passes - before.worker_passes;
            assert_eq!((woken, passes), (1, 1), "round {round}: {now:#?}");
        }
    });
}

#[test]
fn what_is_lazy_goes_after_the_flush_time() {
    isolated(|| {
        // The one test that waits for it: a quiet thread, a departed one, plain and not.
        let ledger = Ledger::new(4);
        let idle = thread::spawn(move || {
            queue_somehow(ledger.thing(0), 0);
            drop(RcuCell::new(1u64).store(2));
            until("it goes", || ledger.count() == 4);
        });
        on_thread("departed", move || {
            queue_somehow(ledger.thing(1), 8);
            drop(RcuCell::new(1u64).store(2));
        });
        queue_somehow(ledger.thing(2), 0);
        queue_somehow(ledger.thing(3), 8);
        let start = Instant::now();
        until("all of them go", || statistics().queued == 0);
        ledger.assert_all_once();
        idle.join().expect("no panic");
        // Lazy: nothing was in a hurry. (At most a second less than the flush time, for the clock's grid.)
        let (took, now) = (start.elapsed(), statistics());
        assert!(
            took > quiescent::tuning::FLUSH / 2,
            "after {took:?}: {now:#?}"
        );
        assert!(now.flushes.lazy > 0, "{now:#?}");
        until_at_rest();
        let passes = statistics().worker_passes;
        assert!(passes <= 4, "{passes}");
    });
}

/// When the library is at rest, no timer of it is set, neither the worker's nor that of its stand-by.
#[test]
fn no_timer_is_set_at_rest() {
    needs!(silent_timer);
    isolated(|| {
        for _ in 0..3 {
            defer_hurry(|| ());
            defer(|| ());
            barrier();
            until_at_rest();
            let open = std::fs::read_dir("/proc/self/fdinfo")
                .expect("/proc")
                .flatten();
            let timers: Vec<_> = open
                .filter_map(|it| std::fs::read_to_string(it.path()).ok())
                .filter(|it| it.contains("it_value"))
                .collect();
            assert_eq!(timers.len(), 2);
            assert!(
                timers.iter().all(|it| it.contains("it_value: (0, 0)")),
                "{timers:?}"
            );
        }
    });
}
