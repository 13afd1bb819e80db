//! The budget: calls that respect it keep what is queued behind a stalled reader within it, the others cause
//! a report; it recovers when the reader has left.

mod life;
mod weights;

use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use crate::common::deferral::{Gate, Ledger};
use crate::common::{PATIENCE, Reader, healed, in_both_modes, isolated, until};
use quiescent::report::{Report, on_report, set_stall_after};
use quiescent::stats::Fullness;
use quiescent::tuning::set_budget;
use quiescent::{
    Options, RcuCell, Refusal, Refused, Retired, SyncError, barrier, defer, drain, read_lock,
    statistics,
};

const MIB: u64 = 1 << 20;
const BUDGET: u64 = 4 * MIB;
const OBJECT: usize = 64;
/// A word: the allocator's share of a block, whose size is a multiple of two.
const WORD: usize = size_of::<usize>();
/// The queue's share: an entry.
const ENTRY: usize = WORD + 8;
/// What one of them counts as.
const WEIGHT: u64 = ((OBJECT + WORD).next_multiple_of(2 * WORD) + ENTRY) as u64;

type Object = [u8; OBJECT];

/// A value that has just been replaced.
fn replaced<T: Send + Sync>(value: T, by: T) -> Retired<T> {
    RcuCell::new(value).store(by)
}

fn object() -> NonNull<Object> {
    NonNull::from(Box::leak(Box::new([0; OBJECT])))
}

/// Gives an object back that was not retired.
fn free(object: Retired<Object>) {
    let object = std::ptr::from_ref(object.leak()).cast_mut();
    // SAFETY: made by `object`, and no other code knows it.
    drop(unsafe { Box::from_raw(object) });
}

/// The bytes that are queued: the larger of the reported bytes and those derived from the reported number.
fn held() -> u64 {
    let now = statistics();
    now.queued_bytes.max(now.queued * OBJECT as u64)
}

/// Tries to retire one; if it comes back, the bytes that the engine knows to be held.
fn refused_at() -> Option<u64> {
    // SAFETY: no other thread has seen the object.
    let refused = unsafe { Retired::from_raw(object()).try_retire() }.err()?;
    let Refusal::Full(full) = &refused.reason else {
        panic!("{refused}");
    };
    let held = full.held_bytes;
    free(refused.object);
    Some(held)
}

/// Tries to retire one; false if it came back.
fn try_one() -> bool {
    refused_at().is_none()
}

fn nothing_is_held() {
    drain(PATIENCE);
    let now = statistics();
    assert_eq!((now.queued, now.queued_bytes), (0, 0), "{now:?}");
    // The engine's total, from its reason for a refusal.
    set_budget(0, 0);
    let guard = read_lock(); // or it would be freed at once
    assert!(try_one(), "where nothing is held there is room for one");
    let refused = replaced(1, 2).try_retire().expect_err("and for one only");
    let Refusal::Full(full) = refused.reason else {
        panic!("{refused}");
    };
    assert_eq!(
        (full.held_callbacks, full.held_bytes),
        (1, WEIGHT),
        "exactly"
    );
    drop((refused.object, guard));
    set_budget(BUDGET, u64::MAX);
    drain(PATIENCE);
}

#[test]
fn a_stalled_reader_holds_no_more_than_the_budget_of_those_who_ask() {
    in_both_modes(|| {
        const THREADS: u64 = 4;
        const OBJECTS: u64 = 1_000_000;
        set_budget(BUDGET, u64::MAX);
        set_stall_after(Duration::ZERO); // the reader stays for as long as the million takes
        let reader = Reader::inside("stalled");
        let (taken, most) = (AtomicU64::new(0), AtomicU64::new(0));
        thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    for n in 0..OBJECTS / THREADS {
                        taken.fetch_add(u64::from(try_one()), Ordering::Relaxed);
                        if n % 4096 == 0 {
                            most.fetch_max(held(), Ordering::Relaxed);
                        }
                    }
                });
            }
        });
        most.fetch_max(held(), Ordering::Relaxed);
        let (taken, most) = (taken.into_inner(), most.into_inner());
        assert!(most <= BUDGET / 10 * 12, "{most}");
        assert!(taken * WEIGHT >= BUDGET / 4 * 3, "{taken} were queued");
        let now = statistics();
        assert!(now.refused > 0 && now.over_budget == 0, "{now:?}");
        assert!(now.oldest > Duration::ZERO);
        reader.end();
        // It is over by itself: no call of ours but those that try.
        until("there is room again", try_one);
        nothing_is_held();
    });
}

/// The most that the engine has known to be held, by its refusals and reports.
static FULLEST: AtomicU64 = AtomicU64::new(0);

fn note_fullest(report: &Report) {
    if let Report::OverBudget { full, .. } = report {
        FULLEST.fetch_max(full.held_bytes, Ordering::Relaxed);
    }
}

#[test]
fn those_who_wait_go_no_faster_than_the_readers() {
    in_both_modes(|| {
        on_report(note_fullest);
        const THREADS: u64 = 4;
        const OBJECTS: u64 = 200_000;
        set_budget(BUDGET / 4, u64::MAX);
        let (done, most) = (AtomicBool::new(false), AtomicU64::new(0));
        thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    let guard = read_lock();
                    thread::sleep(Duration::from_millis(5));
                    drop(guard);
                    thread::yield_now();
                }
            });
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    most.fetch_max(held(), Ordering::Relaxed);
                    FULLEST.fetch_max(refused_at().unwrap_or(0), Ordering::Relaxed);
                    thread::yield_now();
                }
            });
            let writers: Vec<_> = (0..THREADS)
                .map(|_| {
                    scope.spawn(|| {
                        for _ in 0..OBJECTS / THREADS {
                            // SAFETY: no other thread has seen the object.
                            unsafe { Retired::from_raw(object()).retire_wait(PATIENCE) }
                                .expect("there will be room");
                        }
                    })
                })
                .collect();
            let ends: Vec<_> = writers.into_iter().map(|it| it.join()).collect();
            done.store(true, Ordering::Relaxed);
            assert!(ends.iter().all(Result::is_ok));
        });
        let most = most.into_inner();
        // Queues are inspected one after the other while objects are queued and freed, so `most` may count
        // some of them twice. How well the budget was kept is known from the engine, which counts each once.
        assert!(most >= BUDGET / 4 / 2, "the budget was used: {most}");
        // The last object of a thread's credit may be larger than what is left of that: one a thread.
        let fullest = FULLEST.load(Ordering::Relaxed);
        assert!(fullest <= BUDGET / 4 + (THREADS + 1) * WEIGHT, "{fullest}");
        nothing_is_held();
    });
}

#[test]
fn one_who_waits_in_vain_gets_it_back_with_the_readers_name() {
    isolated(|| {
        set_budget(10_000, u64::MAX);
        let reader = Reader::inside("stalled");
        while try_one() {}
        let waiting = replaced(7u64, 8).with_owned_bytes(1000);
        let refused = waiting.retire_wait(Duration::from_millis(20));
        let refused = refused.expect_err("a reader is in the way");
        let text = refused.to_string();
        assert!(
            text.contains("stalled") && text.contains("10000 bytes"),
            "{text}"
        );
        assert!(matches!(refused.reason, Refusal::TimedOut { .. }));
        assert_eq!(*refused.object, 7, "it is as it was");
        assert_eq!(statistics().refused, 1, "only the last one that tried");
        // The weight is, too.
        let refused = refused.object.try_retire().expect_err("still");
        let Refusal::Full(Fullness { held_bytes, .. }) = refused.reason else {
            panic!("{refused}");
        };
        assert!(held_bytes + 1000 > 10_000);
        reader.end();
        refused.object.retire_wait(PATIENCE).expect("there is room");
        nothing_is_held();
    });
}

static REPORTED: AtomicU64 = AtomicU64::new(0);

fn tell(report: &Report) {
    if let Report::OverBudget { full, holdouts, .. } = report {
        assert!(full.held_bytes > full.budget_bytes && *holdouts <= 2);
        assert!(report.to_string().contains("over the budget"));
        REPORTED.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn retire_grows_and_says_so_once() {
    in_both_modes(|| {
        on_report(tell);
        set_budget(BUDGET / 4, u64::MAX);
        let reader = Reader::inside("stalled");
        let objects = BUDGET / OBJECT as u64;
        let guard = read_lock();
        for _ in 0..objects {
            // SAFETY: no other thread has seen the object.
            unsafe { Retired::from_raw(object()).retire() }; // in a section: it neither waits nor hangs
        }
        drop(guard);
        assert!(held() >= BUDGET, "it grows");
        // While the worker waits for that very reader.
        until("it is reported", || REPORTED.load(Ordering::Relaxed) == 1);
        assert_eq!(statistics().over_budget, 1);
        assert!(!try_one());
        reader.end();
        until("there is room again", try_one);
        nothing_is_held();
    });
}

#[test]
fn callbacks_count_and_waiting_for_them_runs_none() {
    isolated(|| {
        set_budget(u64::MAX, 100);
        let gate = Gate::new();
        static RAN_HERE: AtomicBool = AtomicBool::new(false);
        let here = thread::current().id();
        // Each waits: the worker's stand-by goes on behind the first, and so does the next, sixteen times.
        healed::expected();
        for _ in 0..200 {
            defer(move || {
                gate.pass();
                let same = thread::current().id() == here;
                RAN_HERE.fetch_or(same, Ordering::Relaxed);
            });
        }
        gate.until_reached(1);
        let refused = replaced(1, 2).retire_wait(Duration::from_millis(30));
        let refused = refused.expect_err("callbacks are in the way");
        match &refused.reason {
            Refusal::TimedOut { full, holdouts } => {
                assert!(full.held_callbacks > 100 && holdouts.is_empty());
            }
            other => panic!("{other}"),
        }
        gate.open();
        refused.object.retire_wait(PATIENCE).expect("they have run");
        assert!(!RAN_HERE.load(Ordering::Relaxed), "by the worker");
        barrier();
        nothing_is_held();
    });
}

#[test]
fn waiting_in_a_section_or_a_callback_is_refused() {
    in_both_modes(|| {
        let guard = read_lock();
        let refused = replaced(1, 2).retire_wait(PATIENCE).expect_err("a section");
        assert_eq!(
            refused.reason,
            Refusal::CannotWait(SyncError::InsideSection)
        );
        drop(guard);
        static REASON: std::sync::Mutex<Option<Refusal>> = std::sync::Mutex::new(None);
        defer(|| {
            let refused = replaced(1, 2)
                .retire_wait(PATIENCE)
                .expect_err("a callback");
            assert_eq!(*refused.object, 1);
            *REASON.lock().expect("not poisoned") = Some(refused.reason);
        });
        barrier();
        let reason = REASON.lock().expect("not poisoned").take();
        assert_eq!(reason, Some(Refusal::CannotWait(SyncError::InsideCallback)));
        // Trying is for everywhere.
        drop(refused);
        drain(PATIENCE);
        let guard = read_lock();
        set_budget(1, 1);
        assert!(replaced(1, 2).try_retire().is_ok());
        let refused = replaced(1, 2).try_retire().expect_err("one is held");
        drop(guard);
        set_budget(BUDGET, u64::MAX);
        refused.object.try_retire().expect("there is room");
        nothing_is_held();
    });
}

#[test]
fn what_is_refused_is_neither_lost_nor_dropped() {
    in_both_modes(|| {
        const THINGS: usize = 2000;
        let ledger = Ledger::new(THINGS);
        set_budget(u64::MAX, 300);
        let reader = Reader::inside("stalled");
        let mut back: Vec<Refused<_>> = Vec::new();
        for index in 0..THINGS {
            let old = replaced(Some(ledger.thing(index)), None);
            back.extend(old.try_retire().err());
        }
        assert!(back.len() >= THINGS - 301 - 64, "{}", back.len());
        assert_eq!(statistics().refused, back.len() as u64);
        assert_eq!(ledger.count(), 0);
        reader.end();
        for refused in back {
            refused.object.retire_wait(PATIENCE).expect("there is room");
        }
        barrier();
        ledger.assert_all_once();
        nothing_is_held();
    });
}

#[test]
fn the_budget_can_be_changed_at_any_time() {
    isolated(|| {
        Options::new()
            .budget(5000, 77)
            .apply()
            .expect("no thread has read");
        let now = statistics();
        assert_eq!((now.budget_bytes, now.budget_callbacks), (5000, 77));
        let reader = Reader::inside("stalled");
        while try_one() {}
        let few = statistics().queued;
        assert!((1..=77).contains(&few), "{few}");
        set_budget(u64::MAX, 1000);
        while try_one() {}
        let many = statistics().queued;
        assert!(many > few && many <= 1001, "{many}");
        set_budget(u64::MAX, u64::MAX);
        assert!((0..10_000).all(|_| try_one()));
        set_budget(1000, 10);
        assert!(!try_one());
        assert_eq!(statistics().over_budget, 1);
        reader.end();
        until("there is room", try_one);
        nothing_is_held();
    });
}
