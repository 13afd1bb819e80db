//! Clocks that jump: the wall clock by days, without any effect; the monotonic ones forward by an hour and
//! more, as after a virtual machine was stopped, which makes due items run, once. And a coarse clock that
//! lags.

pub mod shifted;

use std::ptr::NonNull;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use crate::common::children::in_child;
use crate::common::deferral::{Gate, Ledger, flag, queue_somehow, until_at_rest};
use crate::common::healed;
use crate::common::{PATIENCE, Reader, in_both_modes, on_thread, sleepers, until};
use shifted::{WALL, WALL_ASKED, catch_up, jump, jump_ahead};

use quiescent::report::{Report, on_report, set_stall_after};
use quiescent::tuning::{FlushTimes, flush_times, memory_is_low, set_budget, set_flush_times};
use quiescent::{
    RcuCell, Refusal, Retired, SyncError, barrier, defer_hurry, defer_lazy, drain, read,
    statistics, synchronize, synchronize_timeout,
};
use quiescent_core::{needs, os::HAS};

const SECOND: i64 = 1_000_000_000;
const HOUR: i64 = 3600 * SECOND;
const DAY: i64 = 24 * HOUR;

static REPORTS: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn remember(report: &Report) {
    REPORTS.lock().expect("no panic").push(report.to_string());
}

/// No report mentions the hour that did not pass.
#[track_caller]
fn assert_no_hours() {
    let reports = REPORTS.lock().expect("no panic");
    let seconds = |text: &String| {
        let mut words = text.split(' ').skip_while(|word| *word != "for");
        words.nth(1)?.parse::<f64>().ok()
    };
    // On a busy machine a callback may well take a second.
    let short = |text| seconds(text).is_some_and(|seconds| seconds < 600.0);
    assert!(reports.iter().all(short), "{reports:?}");
    assert_eq!(statistics().stalls, 0);
}

/// How many reports of this kind there have been.
fn reports(kind: &str) -> usize {
    let reports = REPORTS.lock().expect("no panic");
    reports.iter().filter(|text| text.contains(kind)).count()
}

fn flush_after(lazy: Duration, prompt: Duration) {
    set_flush_times(FlushTimes { lazy, prompt });
}

const FLUSH_HOUR: Duration = Duration::from_secs(3600);

/// Queues things in ways that are lazy: in this thread, in one that is gone, and in one that stays,
/// quiet, until the returned function is called.
fn queue_patiently(ledger: &'static Ledger, things: usize) -> impl FnOnce() {
    let queue = move |from: usize| {
        (from..things)
            .step_by(3)
            .for_each(|index| queue_somehow(ledger.thing(index), 2 * index));
    };
    let (done, queued) = (flag(), flag());
    let quiet = thread::spawn(move || {
        queue(0);
        queued.store(true, Ordering::Release);
        while !done.load(Ordering::Acquire) {
            thread::sleep(Duration::from_millis(1));
        }
    });
    on_thread("departed", move || queue(1));
    queue(2);
    until("it is queued", || queued.load(Ordering::Acquire));
    move || {
        done.store(true, Ordering::Release);
        quiet.join().expect("no panic");
    }
}

/// Runs `body` in both modes, where clocks and timers are shifted.
fn with_shifted_clocks(body: impl Fn()) {
    in_both_modes(|| {
        shifted::switch_on();
        body();
    });
}

#[test]
fn the_time_of_day_is_never_read() {
    with_shifted_clocks(|| {
        on_report(remember);
        let short = Duration::from_millis(20);
        flush_after(short, short);
        let idle = Reader::idle("idle");
        let asked = WALL_ASKED.load(Ordering::Relaxed);
        for days in [400, -300, 3, -9000, 20_000, 0] {
            WALL.store(days * DAY, Ordering::Release);
            let ledger = Ledger::new(60);
            let end = queue_patiently(ledger, 60);
            WALL.fetch_sub(DAY, Ordering::AcqRel);
            until("all of it goes", || ledger.count() == 60);
            assert_eq!(synchronize_timeout(PATIENCE), Ok(()));
            memory_is_low();
            barrier();
            ledger.assert_all_once();
            end();
        }
        assert_eq!(WALL_ASKED.load(Ordering::Relaxed), asked);
        assert_no_hours();
        idle.end();
    });
}

#[test]
fn what_a_jump_makes_due_goes_once() {
    with_shifted_clocks(|| {
        on_report(remember);
        flush_after(FLUSH_HOUR, FLUSH_HOUR);
        for by in [HOUR + 2 * SECOND, DAY, 10_000 * DAY] {
            let ledger = Ledger::new(60);
            let end = queue_patiently(ledger, 60);
            assert_eq!(ledger.count(), 0);
            until("the timer is set", || statistics().timer_armed);
            let before = statistics();
            jump(by);
            until("all of it goes", || ledger.count() == 60);
            until_at_rest();
            ledger.assert_all_once();
            let after = statistics();
            let woken = after.worker_wakeups.timer - before.worker_wakeups.timer;
            assert!(woken <= 3, "{woken}");
            end();
        }
        assert_no_hours();
        // Times without an end, and no sum of them that overflows.
        set_flush_times(FlushTimes {
            lazy: Duration::MAX,
            prompt: Duration::MAX,
        });
        let ledger = Ledger::new(60);
        let end = queue_patiently(ledger, 60);
        jump(90 * 365 * DAY);
        assert_eq!(drain(PATIENCE).left, 0);
        ledger.assert_all_once();
        end();
    });
}

#[test]
fn later_ones_do_not_put_off_the_first() {
    with_shifted_clocks(|| {
        const QUARTER: i64 = HOUR / 4;
        flush_after(FLUSH_HOUR, FLUSH_HOUR);
        let ledger = Ledger::new(10);
        for quarter in 0..10 {
            // Each reaches the engine, which checks the deadline again.
            let thing = ledger.thing(quarter);
            defer_lazy(move || drop(thing));
            set_flush_times(flush_times());
            if quarter < 4 {
                assert_eq!(ledger.count(), 0);
            } else if quarter == 4 {
                until("the first has waited for an hour", || ledger.count() >= 4);
            }
            jump(QUARTER + SECOND);
        }
        jump(HOUR + SECOND);
        until("all of it goes", || ledger.count() == 10);
        ledger.assert_all_once();
    });
}

/// Retires `count` objects of plain memory.
fn retire_plain(count: u64) {
    for n in 0..count {
        // SAFETY: a box of ours, retired once.
        unsafe { Retired::from_raw(NonNull::from(Box::leak(Box::new([n; 4])))).retire() };
    }
}

#[test]
fn a_child_frees_in_time_what_it_inherited() {
    needs!(fork);
    with_shifted_clocks(|| {
        flush_after(FLUSH_HOUR, FLUSH_HOUR);
        // It is still held at the fork, and the child has only its own section.
        let reader = Reader::inside("keeps it");
        on_thread("departed", || retire_plain(200));
        retire_plain(100);
        in_child(|| {
            let inherited = statistics().queued;
            assert!(inherited >= 300 - 2, "{inherited}");
            // The worker of the child, which comes for something else.
            let came = flag();
            on_thread("hurries", || {
                defer_hurry(|| came.store(true, Ordering::Release));
            });
            until("it comes", || came.load(Ordering::Acquire));
            jump(HOUR + 2 * SECOND);
            until("all of it goes", || statistics().queued == 0);
        });
        reader.end();
        barrier();
    });
}

#[test]
fn what_a_thread_has_left_goes_in_time() {
    with_shifted_clocks(|| {
        flush_after(FLUSH_HOUR, FLUSH_HOUR);
        let ledger = Ledger::new(20);
        on_thread("departed", || {
            (0..20).for_each(|index| queue_somehow(ledger.thing(index), 8));
        });
        assert_eq!(ledger.count(), 0);
        jump(HOUR + 2 * SECOND); // and no other thread calls the library
        until("all of it goes", || ledger.count() == 20);
        ledger.assert_all_once();
    });
}

#[test]
fn a_barrier_covers_what_would_wait_for_an_hour() {
    with_shifted_clocks(|| {
        flush_after(FLUSH_HOUR, FLUSH_HOUR);
        let ledger = Ledger::new(20);
        let queue = |from: usize| {
            (from..from + 10).for_each(|index| queue_somehow(ledger.thing(index), 8));
        };
        on_thread("departed", move || queue(0));
        queue(10);
        assert_eq!(ledger.count(), 0);
        barrier();
        ledger.assert_all_once();
    });
}

#[test]
fn deadlines_that_a_jump_passes_are_over() {
    with_shifted_clocks(|| {
        set_stall_after(Duration::from_secs(1_000_000));
        flush_after(FLUSH_HOUR, FLUSH_HOUR);
        let reader = Reader::inside("slow");
        let ledger = Ledger::new(20);
        set_budget(u64::MAX, 10);
        (0..19).for_each(|index| queue_somehow(ledger.thing(index), 8));
        thread::scope(|scope| {
            let limit = Duration::from_secs(1800);
            let mut all = sleepers(scope, 2, move || {
                let Err(SyncError::TimedOut { .. }) = synchronize_timeout(limit) else {
                    panic!("a grace period ended beside a reader");
                };
            });
            all.extend(sleepers(scope, 1, move || {
                let old = RcuCell::new(Some(ledger.thing(19))).store(None);
                let refused = old.retire_wait(limit).expect_err("there is no room");
                assert!(matches!(refused.reason, Refusal::TimedOut { .. }));
            }));
            all.extend(sleepers(scope, 1, move || {
                assert!(drain(limit).left >= 19);
            }));
            assert!(all.iter().all(|one| !one.is_finished()));
            jump(HOUR);
        });
        assert_eq!(ledger.count(), 0);
        reader.end();
        barrier();
        until("what was given back is retired after all", || {
            ledger.count() == 20
        });
        ledger.assert_all_once();
    });
}

#[test]
fn a_jump_makes_no_storm_of_reports() {
    with_shifted_clocks(|| {
        healed::expected();
        on_report(remember);
        set_stall_after(Duration::from_secs(600));
        // No reader blocks it.
        let idle = Reader::idle("idle");
        for _ in 0..5 {
            jump(HOUR);
            synchronize();
        }
        assert_eq!(statistics().stalls, 0);
        let reader = Reader::inside("slow");
        thread::scope(|scope| {
            let waiters = sleepers(scope, 3, synchronize);
            for jumps in 1..=4 {
                jump(HOUR);
                until("it is reported", || reports("slow") >= jumps);
                thread::sleep(Duration::from_millis(200));
                assert_eq!(reports("slow"), jumps);
            }
            assert!(waiters.iter().all(|waiter| !waiter.is_finished()));
            reader.end();
        });
        synchronize();
        assert_eq!(statistics().stalls, 4);
        idle.end();
    });
}

/// The clocks of this process's timers, as the kernel tells them.
fn clocks_of_timers() -> Vec<String> {
    let all = std::fs::read_dir("/proc/self/fdinfo").expect("/proc");
    let texts = all.filter_map(|file| std::fs::read_to_string(file.ok()?.path()).ok());
    let clock = |text: String| {
        let mut lines = text.lines();
        lines.find_map(|line| Some(line.strip_prefix("clockid:")?.trim().to_owned()))
    };
    texts.filter_map(clock).collect()
}

#[test]
fn timers_stand_still_while_the_system_is_suspended() {
    needs!(HAS.silent_timer, "a timer with a descriptor");
    with_shifted_clocks(|| {
        assert_eq!(clocks_of_timers(), Vec::<String>::new());
        defer_hurry(|| ());
        barrier();
        // The worker's and the stand-by's. Number 7 (time in suspend counts) would make all that is held due
        // on resume, and 9 would wake the system up for it.
        let monotonic = libc::CLOCK_MONOTONIC.to_string();
        assert_eq!(clocks_of_timers(), [monotonic.clone(), monotonic]);
    });
}

#[test]
fn windows_of_pressure_are_over_after_a_jump() {
    with_shifted_clocks(|| {
        flush_after(FLUSH_HOUR * 24, FLUSH_HOUR * 24);
        for _ in 0..5 {
            let ledger = Ledger::new(60);
            let end = queue_patiently(ledger, 30);
            memory_is_low();
            until("half of it goes", || ledger.count() == 30);
            // Within the window, so for later; which is now.
            (30..60).for_each(|index| queue_somehow(ledger.thing(index), 8));
            memory_is_low();
            jump(HOUR);
            until("all of it goes", || ledger.count() == 60);
            ledger.assert_all_once();
            end();
        }
        until_at_rest();
    });
}

#[test]
fn jumps_while_everybody_is_busy() {
    with_shifted_clocks(|| {
        healed::expected();
        const THINGS: usize = 20_000;
        const JUMPS: u64 = 20;
        let ledger = Ledger::new(2 * THINGS);
        let (over, queued) = (AtomicBool::new(false), AtomicU32::new(0));
        thread::scope(|scope| {
            let (over, queued) = (&over, &queued);
            for producer in 0..2 {
                scope.spawn(move || {
                    for index in 0..THINGS {
                        queue_somehow(ledger.thing(producer * THINGS + index), index / 7);
                        read(|_| ());
                        if index % 64 == 0 {
                            synchronize();
                        }
                    }
                    queued.fetch_add(1, Ordering::Release);
                });
            }
            scope.spawn(move || {
                while !over.load(Ordering::Acquire) {
                    read(|_| thread::yield_now());
                    memory_is_low();
                }
            });
            for _ in 0..JUMPS {
                jump(HOUR);
                thread::sleep(Duration::from_millis(5));
            }
            while queued.load(Ordering::Acquire) < 2 {
                thread::sleep(Duration::from_millis(1));
            }
            over.store(true, Ordering::Release);
        });
        barrier();
        assert_eq!(drain(PATIENCE).left, 0);
        ledger.assert_all_once();
        let now = statistics();
        // Who was in a section, or in a callback, at a jump has been there for an hour.
        assert!(now.stalls <= JUMPS, "{now:?}");
        assert!(now.callbacks_stuck <= JUMPS, "{now:?}");
        assert_eq!((now.leaked, now.worker_errors), (0, 0));
    });
}

#[test]
fn the_coarse_clock_may_lag() {
    with_shifted_clocks(|| {
        on_report(remember);
        let short = Duration::from_millis(20);
        flush_after(short, short);
        let idle = Reader::idle("idle");
        for lag in [SECOND / 100, SECOND, HOUR, 0] {
            jump_ahead(lag);
            if lag == 0 {
                catch_up();
            }
            for _ in 0..3 {
                let ledger = Ledger::new(60);
                let end = queue_patiently(ledger, 60);
                until("all of it goes", || ledger.count() == 60);
                // A callback takes some time, longer than from one look to the next, and is not stuck.
                let gate = Gate::new();
                defer_hurry(|| gate.pass());
                gate.until_reached(1);
                thread::sleep(Duration::from_millis(250));
                gate.open();
                barrier();
                ledger.assert_all_once();
                end();
            }
            if lag < SECOND {
                until_at_rest(); // a lag above a tick ends soon, and no thread is at rest then
            }
        }
        assert_no_hours();
        idle.end();
    });
}
