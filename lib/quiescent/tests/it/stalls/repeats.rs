//! Frequency: growing intervals for one grace period, restarted for the next, and no report without a reader.

use std::thread;
use std::time::{Duration, Instant};

use quiescent::stats::Statistics;
use quiescent::{
    RcuCell, defer_hurry, read, start_grace_period, statistics, synchronize, synchronize_timeout,
};

use super::{TIME, listen, reported, until_reported};
use crate::common::deferral::{library_switches, until_at_rest};
use crate::common::{Reader, in_both_modes, sleepers, until};

#[test]
fn the_second_report_is_three_times_as_far_away() {
    in_both_modes(|| {
        listen(TIME);
        let slow = Reader::inside("slow");
        thread::scope(|scope| {
            let callers = sleepers(scope, 2, synchronize);
            let reports = until_reported(4);
            slow.end();
            for caller in callers {
                caller.join().expect("no panic");
            }
            for (n, (report, _)) in (0..).zip(&reports[..4]) {
                assert_eq!(report.report, n + 1);
                // By the engine's own time, and hence however busy the machine is.
                let least = TIME + n * (3 * TIME + Duration::from_millis(3));
                assert!(report.age >= least, "report {n} after {:?}", report.age);
                assert_eq!(report.grace_period, reports[0].0.grace_period);
            }
        });
    });
}

#[test]
fn the_next_grace_period_begins_anew() {
    needs!(native);
    in_both_modes(|| {
        listen(TIME);
        let mut periods = Vec::new();
        for round in 1..=3 {
            let slow = Reader::inside("slow");
            let before = reported().len();
            let _ = synchronize_timeout(3 * TIME);
            let first = &reported()[before].0;
            assert_eq!(first.report, 1, "round {round}");
            assert_eq!(first.readers[0].holdout.thread_id, slow.thread_id);
            periods.push(first.grace_period);
            slow.end();
            synchronize();
        }
        assert!(periods.is_sorted_by(|a, b| a < b), "{periods:?}");
    });
}

/// Readers, durations and numbers differ from one grace period to the next: each report has its own.
#[test]
fn ages_names_and_numbers_are_those_of_the_grace_period_in_flight() {
    in_both_modes(|| {
        listen(TIME);
        let rounds = [("first", 3), ("the second", 1), ("3rd", 2), ("first", 1)];
        for (name, count) in rounds {
            let (before, ended) = (reported().len(), statistics().grace_periods);
            let began = Instant::now();
            let slow = Reader::inside(name);
            thread::scope(|scope| {
                let caller = scope.spawn(synchronize);
                let reports = until_reported(before + count);
                // No age is more than the time since before the reader was inside: by the clock, hence
                // however busy the machine is. (The library's clock may lag by a tick.)
                let most = began.elapsed() + Duration::from_millis(10);
                for (n, (report, _)) in (0..).zip(&reports[before..]) {
                    let least = TIME + n * (3 * TIME + Duration::from_millis(3));
                    assert!((least..=most).contains(&report.age), "{report}, {most:?}");
                    assert_eq!((report.grace_period, report.report), (ended + 1, n + 1));
                    let [reader] = &report.readers[..] else {
                        panic!("one reader is in the way: {report}");
                    };
                    assert_eq!(reader.held_for, report.age);
                    assert_eq!(reader.holdout.thread_id, slow.thread_id);
                    assert_eq!(reader.holdout.name.as_deref(), Some(name));
                }
                slow.end();
                caller.join().expect("no panic");
            });
        }
    });
}

#[test]
fn readers_that_do_not_stall_are_not_reported() {
    in_both_modes(|| {
        listen(Duration::from_millis(1));
        // Outside of sections they block nothing, however long that is.
        let idle: Vec<_> = (0..3).map(|_| Reader::idle("idle")).collect();
        for n in 0..200 {
            synchronize();
            let cookie = start_grace_period();
            until("it is done", || cookie.is_done());
            defer_hurry(|| ());
            if n % 50 == 0 {
                thread::sleep(Duration::from_millis(5));
            }
        }
        quiescent::barrier();
        assert_eq!((reported(), statistics().stalls), (vec![], 0));
        idle.into_iter().for_each(Reader::end);
    });
}

/// Everything that the library does of itself.
fn work(s: Statistics) -> [u64; 9] {
    [
        s.grace_periods,
        s.scans,
        s.fences_gp,
        s.fences_flag,
        s.fences_take,
        s.wakeups,
        s.sleeps,
        s.worker_passes,
        library_switches(),
    ]
}

/// Rule R5: no thread checks for stalls alone.
#[test]
fn once_the_reader_has_left_nothing_is_reported_and_nothing_runs() {
    in_both_modes(|| {
        listen(TIME);
        let slow = Reader::inside("slow");
        defer_hurry(|| ());
        until_reported(1);
        slow.end();
        until_at_rest();
        let (count_before, before) = (reported().len(), work(statistics()));
        for _ in 0..10 {
            thread::sleep(TIME);
            read(|_| ());
            assert_eq!(work(statistics()), before);
            assert!(!statistics().timer_armed);
        }
        assert_eq!(reported().len(), count_before);
    });
}

/// The same with a stalled reader: no thread waits and nothing is queued, so no report is made.
#[test]
fn a_stall_without_waiters_wakes_no_thread() {
    in_both_modes(|| {
        listen(TIME);
        RcuCell::new(1).store(2).retire_hurry();
        quiescent::barrier();
        until_at_rest();
        let slow = Reader::inside("slow");
        let _ = synchronize_timeout(TIME / 10); // a grace period stays behind, without a driver
        let (count_before, before) = (reported().len(), work(statistics()));
        for _ in 0..10 {
            thread::sleep(TIME);
            assert_eq!(work(statistics()), before);
            assert!(!statistics().timer_armed && statistics().holdouts == 1);
        }
        assert_eq!(reported().len(), count_before);
        slow.end();
    });
}
