//! Detection: the reporting thread, and what the report says of the reader.

use std::ptr::NonNull;
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use quiescent::{
    Options, Retired, SyncError, barrier, defer_hurry, drain, read, read_lock, start_grace_period,
    statistics, synchronize, synchronize_timeout,
};

use super::{TIME, listen, reported, until_reported};
use crate::common::deferral::{Gate, until_at_rest};
use crate::common::healed;
use crate::common::{
    Reader, in_both_modes, isolated, on_thread, sleepers, sleeps, thread_id, thread_name, until,
};

#[test]
fn the_driver_names_thread_state_nesting_and_time() {
    needs!(native);
    in_both_modes(|| {
        listen(TIME);
        let idle = Reader::idle("idle");
        let (inside, end) = (Barrier::new(2), Barrier::new(2));
        thread::scope(|scope| {
            let slow = thread::Builder::new().name("slow (one)".into());
            let (inside, end) = (&inside, &end);
            let slow = slow.spawn_scoped(scope, || {
                let guards = [read_lock(), read_lock(), read_lock()];
                inside.wait();
                let thread = thread_id();
                end.wait();
                drop(guards);
                thread
            });
            inside.wait();
            let ended = statistics().grace_periods;
            let driver = scope.spawn(|| {
                synchronize();
                thread_id()
            });
            let (report, teller) = until_reported(1).swap_remove(0);
            end.wait();
            let slow = slow.expect("a thread").join().expect("no panic");
            assert_eq!(teller, driver.join().expect("no panic"));
            assert_eq!((report.grace_period, report.report), (ended + 1, 1));
            assert!(report.age >= TIME, "{report}");
            let [reader] = &report.readers[..] else {
                panic!("one reader is in the way: {report}");
            };
            assert_eq!(reader.holdout.thread_id, slow);
            assert_eq!(reader.holdout.name.as_deref(), Some("slow (one)"));
            let state = cfg!(target_os = "linux").then_some('S');
            assert_eq!((reader.holdout.nesting, reader.state), (3, state));
            assert!(reader.held_for >= TIME);
            assert_eq!(reader.location.is_some(), cfg!(feature = "locations"));
            assert_eq!((report.more, report.queued, report.queued_bytes), (0, 0, 0));
            let text = report.to_string();
            let expected = match state {
                Some(_) => "\"slow (one)\" (nesting 3), state S",
                None => "\"slow (one)\" (nesting 3), in its section",
            };
            assert!(text.contains(expected), "{text}");
            assert_eq!(statistics().stalls, 1);
        });
        idle.end();
    });
}

#[test]
fn of_many_that_wait_one_tells() {
    in_both_modes(|| {
        listen(TIME);
        let slow = Reader::inside("slow");
        thread::scope(|scope| {
            // The first driver returns before its report is due; its successor reports.
            let first = scope.spawn(|| synchronize_timeout(TIME / 4));
            let callers = sleepers(scope, 3, synchronize);
            let first = first.join().expect("no panic");
            assert!(
                matches!(first, Err(SyncError::TimedOut { .. })),
                "{first:?}"
            );
            until_reported(3);
            slow.end();
            callers
                .into_iter()
                .for_each(|caller| caller.join().expect("no panic"));
            // Those who tell may overtake each other; what is due while one tells is left out.
            let reports = reported();
            let mut numbers: Vec<u32> = reports.iter().map(|(report, _)| report.report).collect();
            numbers.sort_unstable();
            let once = numbers.is_sorted_by(|one, next| one < next);
            assert!(once, "each was made once: {numbers:?}");
        });
    });
}

#[test]
fn the_worker_tells_what_waits_behind_it() {
    in_both_modes(|| {
        listen(TIME);
        let slow = Reader::inside("slow");
        defer_hurry(|| ());
        defer_hurry(|| ());
        let (report, teller) = until_reported(1).swap_remove(0);
        let teller = thread_name(teller).unwrap_or_default();
        assert!(teller.starts_with("quiescent"), "the worker reported");
        assert_eq!(report.readers[0].holdout.thread_id, slow.thread_id);
        assert_eq!(report.queued, 2, "{report}");
        slow.end();
        barrier();
        synchronize(); // the barrier may have asked for one that came too late to be needed
        until_at_rest();
    });
}

#[test]
fn a_drain_tells() {
    in_both_modes(|| {
        listen(TIME);
        let slow = Reader::inside("slow");
        // SAFETY: a box of ours, retired once.
        unsafe { Retired::from_raw(NonNull::from(Box::leak(Box::new(1u64)))).retire() };
        until("a drain tells", || {
            assert_eq!(drain(10 * TIME).left, 1);
            !reported().is_empty()
        });
        slow.end();
        barrier();
    });
}

#[test]
fn polls_tell() {
    in_both_modes(|| {
        listen(TIME);
        let slow = Reader::inside("slow");
        let cookie = start_grace_period();
        until("a poll tells", || {
            assert!(!cookie.is_done());
            !reported().is_empty()
        });
        let (report, teller) = reported().swap_remove(0);
        assert_eq!(teller, thread_id());
        assert_eq!(report.readers[0].holdout.thread_id, slow.thread_id);
        slow.end();
        until("the poll succeeds", || cookie.is_done());
    });
}

#[test]
fn one_that_polls_inside_a_section_of_its_own_names_itself() {
    in_both_modes(|| {
        listen(TIME);
        let cookie = start_grace_period();
        read(|_| {
            // This is the only thread, so there is no fence, and no time is read for one.
            until("a poll tells", || {
                assert!(!cookie.is_done());
                !reported().is_empty()
            });
        });
        let report = reported().swap_remove(0).0;
        assert_eq!(report.readers[0].holdout.thread_id, thread_id());
        assert!(
            report.age < Duration::from_secs(3600),
            "since now: {report}"
        );
        assert!(cookie.is_done());
    });
}

/// Retires enough for some grace periods.
fn retire_many() {
    for n in 0..10_000u64 {
        // SAFETY: a box of ours, retired once.
        unsafe { Retired::from_raw(NonNull::from(Box::leak(Box::new(n)))).retire() };
    }
}

#[test]
fn no_reporter_runs_inside_retire() {
    in_both_modes(|| {
        listen(Duration::from_millis(1));
        // The worker is in a callback, so no other thread than this one can drive.
        let gate = Gate::new();
        defer_hurry(|| gate.pass());
        gate.until_reached(1);
        let slow = Reader::inside("slow");
        let before = statistics();
        for _ in 0..10 {
            retire_many();
            thread::sleep(Duration::from_millis(2));
        }
        let after = statistics();
        assert!(after.scans > before.scans, "no `retire` has driven");
        assert_eq!(after.stalls, before.stalls, "`retire` took a report");
        assert_eq!(reported(), []);
        // It is overdue, and the next thread that may report does so at once.
        let cookie = start_grace_period();
        until("a poll tells", || {
            !cookie.is_done() && !reported().is_empty()
        });
        assert_eq!(reported()[0].1, thread_id());
        slow.end();
        gate.open();
        barrier();
    });
}

#[test]
fn a_thread_that_ended_inside_is_reported_as_such() {
    in_both_modes(|| {
        listen(TIME);
        let thread = on_thread("gone", || {
            std::mem::forget(read_lock());
            thread_id()
        });
        until("it is reported", || {
            let result = synchronize_timeout(5 * TIME);
            assert!(
                matches!(result, Err(SyncError::TimedOut { .. })),
                "{result:?}"
            );
            !reported().is_empty()
        });
        let report = reported().swap_remove(0).0;
        let reader = &report.readers[0];
        assert_eq!(reader.holdout.thread_id, thread);
        assert_eq!((&reader.holdout.name, reader.state), (&None, None));
        assert!(report.to_string().contains("which ended inside a section"));
    });
}

#[test]
fn at_most_64_are_named_and_the_rest_are_counted() {
    isolated(|| {
        listen(TIME);
        let slow: Vec<_> = (0..70).map(|_| Reader::inside("slow")).collect();
        let _ = synchronize_timeout(5 * TIME);
        let report = reported().swap_remove(0).0;
        assert_eq!((report.readers.len(), report.more), (64, 6));
        assert!(report.to_string().contains("and 6 others"));
        slow.into_iter().for_each(Reader::end);
    });
}

#[test]
fn readers_without_a_slot_are_reported_together() {
    isolated(|| {
        healed::expected();
        Options::new()
            .max_threads(1)
            .stall_after(TIME)
            .apply()
            .expect("no thread has read");
        quiescent::report::on_report(super::remember);
        let slow: Vec<_> = (0..64).map(|_| Reader::inside("slow")).collect();
        assert_eq!(statistics().unregistered_sections, 2);
        let _ = synchronize_timeout(5 * TIME);
        let report = reported().swap_remove(0).0;
        let unregistered: Vec<_> = report
            .readers
            .iter()
            .filter(|reader| reader.holdout.thread_id == 0)
            .map(|reader| (reader.state, reader.location))
            .collect();
        assert!(!unregistered.is_empty() && unregistered.iter().all(|it| *it == (None, None)));
        assert_eq!(report.readers.len() + report.more, 62 + unregistered.len());
        slow.into_iter().for_each(Reader::end);
    });
}

#[test]
fn a_sleeping_driver_hears_of_a_new_time() {
    in_both_modes(|| {
        listen(Duration::ZERO);
        let slow = Reader::inside("slow");
        thread::scope(|scope| {
            let before = statistics().sleeps;
            let callers = sleepers(scope, 1, synchronize);
            until("it sleeps for the reader", || statistics().sleeps > before);
            assert_eq!(reported(), [], "reports are off");
            quiescent::report::set_stall_after(TIME);
            let report = until_reported(1).swap_remove(0).0;
            assert_eq!(report.readers[0].holdout.thread_id, slow.thread_id);
            assert!(sleeps(slow.thread_id));
            slow.end();
            for caller in callers {
                caller.join().expect("no panic");
            }
        });
    });
}
