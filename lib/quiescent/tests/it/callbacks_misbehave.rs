//! Callbacks and destructors that panic, never return, or leak guards; and reporters that misbehave. Each is
//! contained, counted and reported, and the other callbacks run.

#[cfg(target_os = "linux")]
mod faults;

use std::panic::panic_any;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use crate::common::deferral::{Gate, Ledger, flag, library_sleeps, queue_somehow, until_at_rest};
use crate::common::healed;
use crate::common::{PATIENCE, in_both_modes, isolated, until};
use quiescent::intrusive::{self, Head};
use quiescent::report::{Report, on_report};
use quiescent::stats::holdouts;
use quiescent::{
    RcuCell, SyncError, barrier, defer, defer_hurry, drain, read_lock, statistics,
    synchronize_timeout, try_barrier, try_synchronize,
};

static REPORTS: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn remember(report: &Report) {
    let text = report.to_string();
    REPORTS.lock().expect("no panic").push(text);
}

fn reports() -> Vec<String> {
    std::mem::take(&mut *REPORTS.lock().expect("no panic"))
}

/// Installs a panic hook that prints nothing.
fn hush() {
    std::panic::set_hook(Box::new(|_| ()));
}

struct PanicsOnDrop(#[allow(dead_code, reason = "it makes it a size")] u64);

impl Drop for PanicsOnDrop {
    fn drop(&mut self) {
        panic!("dropped");
    }
}

/// # Safety
/// Takes any head.
unsafe fn panicking_head(_: std::ptr::NonNull<Head>) {
    panic!("a head");
}

#[test]
fn a_panic_is_contained_counted_and_reported() {
    in_both_modes(|| {
        hush();
        on_report(remember);
        for round in 0..3u64 {
            let ledger = Ledger::new(400);
            for index in 0..400 {
                queue_somehow(ledger.thing(index), index & !1);
                if index % 100 == 50 {
                    defer(|| panic!("a closure"));
                    defer(move || panic_any(vec![round; 100]));
                    drop(RcuCell::new(Some(PanicsOnDrop(1))).store(None));
                    let head = std::ptr::NonNull::from(Box::leak(Box::new(Head::new())));
                    // SAFETY: a head of ours, kept for ever.
                    unsafe { intrusive::defer(head, panicking_head) };
                }
            }
            // On the worker, or here.
            match round {
                0 => barrier(),
                _ => assert_eq!(drain(PATIENCE).left, 0),
            }
            barrier();
            ledger.assert_all_once();
            let after = statistics();
            assert_eq!(after.callback_panics, (round + 1) * 16);
            assert_eq!(after.callbacks, (round + 1) * 416);
            assert_eq!((after.queued, after.callbacks_stuck), (0, 0));
            let texts = reports();
            assert_eq!(texts.len(), 16, "{texts:?}");
            let with = |part: &str| texts.iter().filter(|text| text.contains(part)).count();
            assert_eq!(with("panicked"), 16);
            assert_eq!(with("PanicsOnDrop"), 4);
            assert_eq!(with("intrusive"), 4);
            assert_eq!(with("closure"), 8);
        }
    });
}

/// Panics with another one of its kind when it is dropped, a few times over.
struct Matryoshka(u32);

impl Drop for Matryoshka {
    fn drop(&mut self) {
        if self.0 > 0 {
            panic_any(Matryoshka(self.0 - 1));
        }
    }
}

#[test]
fn panics_of_panics_are_contained() {
    in_both_modes(|| {
        hush();
        let ran = flag();
        for depth in 0..4 {
            defer_hurry(move || panic_any(Matryoshka(depth)));
        }
        defer_hurry(|| ran.store(true, Ordering::Release));
        until("others run", || ran.load(Ordering::Acquire));
        barrier();
        assert_eq!(statistics().callback_panics, 4);
        for depth in 0..4 {
            defer(move || panic_any(Matryoshka(depth)));
        }
        assert_eq!(drain(PATIENCE).left, 0);
        assert_eq!(statistics().callback_panics, 8);
    });
}

/// Its destructor tries each call that waits, checks that all are refused, and counts that in `REFUSED`.
struct Waits;

static REFUSED: AtomicU32 = AtomicU32::new(0);

impl Drop for Waits {
    fn drop(&mut self) {
        assert_eq!(try_barrier(), Err(SyncError::InsideCallback));
        assert_eq!(try_synchronize(), Err(SyncError::InsideCallback));
        drain(crate::common::SHORT);
        REFUSED.fetch_add(1, Ordering::AcqRel);
        barrier(); // panics
    }
}

#[test]
fn what_a_panic_carries_is_dropped_inside_the_callback() {
    in_both_modes(|| {
        hush();
        on_report(remember);
        for round in 1..4 {
            let ledger = Ledger::new(20);
            for index in 0..20 {
                queue_somehow(ledger.thing(index), index);
                if index == 10 {
                    defer_hurry(|| panic_any(Waits));
                }
            }
            until("it is dropped", || {
                REFUSED.load(Ordering::Acquire) == 2 * round - 1
            });
            barrier();
            ledger.assert_all_once();
            // The same in this thread.
            defer(|| panic_any(Waits));
            assert_eq!(drain(PATIENCE).left, 0);
            assert_eq!(REFUSED.load(Ordering::Acquire), 2 * round);
            barrier();
            assert_eq!(statistics().callback_panics, 2 * u64::from(round));
        }
        assert_eq!(reports().len(), 6);
        assert_eq!(statistics().callbacks_stuck, 0);
    });
}

#[test]
fn a_reporter_that_panics_stops_no_other_callback() {
    in_both_modes(|| {
        hush();
        on_report(|report| panic!("{report}"));
        let ran: &'static AtomicU32 = Box::leak(Box::new(AtomicU32::new(0)));
        for _ in 0..3 {
            defer_hurry(|| panic!("a closure"));
            defer_hurry(|| {
                ran.fetch_add(1, Ordering::Release);
            });
            barrier();
        }
        assert_eq!(ran.load(Ordering::Acquire), 3);
        assert_eq!(statistics().callback_panics, 3);
    });
}

#[test]
fn a_callback_that_never_returns_stops_no_other_callback() {
    in_both_modes(|| {
        healed::expected();
        on_report(remember);
        let gate = Gate::new();
        defer_hurry(|| gate.pass());
        gate.until_reached(1);
        let ledger = Ledger::new(500);
        (0..500).for_each(|index| queue_somehow(ledger.thing(index), index));
        until("others go on", || ledger.count() == 500);
        ledger.assert_all_once();
        assert_eq!(statistics().callbacks_stuck, 1);
        let texts = reports();
        assert_eq!(texts.len(), 1, "{texts:?}");
        assert!(texts[0].contains("has not returned"), "{texts:?}");
        assert!(texts[0].contains("closure"), "{texts:?}");
        // A barrier waits for it …
        let covered = AtomicBool::new(false);
        thread::scope(|scope| {
            let waiters = crate::common::sleepers(scope, 2, || {
                barrier();
                covered.store(true, Ordering::Release);
            });
            assert_eq!(statistics().queued, 1);
            let drained = drain(crate::common::SHORT);
            assert_eq!((drained.ran, drained.left), (0, 1));
            assert!(!covered.load(Ordering::Acquire));
            // … and others use the rest of the machinery meanwhile.
            for index in 0..50 {
                let more = Ledger::new(1);
                queue_somehow(more.thing(0), index | 1); // the lazy ones take their time
                until("one more goes", || more.count() == 1);
            }
            assert!(waiters.iter().all(|waiter| !waiter.is_finished()));
            gate.open();
        });
        assert!(covered.load(Ordering::Acquire));
        until_at_rest();
        assert_eq!(statistics().callbacks_stuck, 1, "it counts, for good");
        assert!(library_sleeps());
        assert!(statistics().helper_threads <= 2, "{:?}", statistics());
    });
}

/// Waits at a gate when it is dropped.
struct Parks(&'static Gate);

impl Drop for Parks {
    fn drop(&mut self) {
        self.0.pass();
    }
}

#[test]
fn several_that_never_return_stop_no_other_callback() {
    isolated(|| {
        healed::expected();
        on_report(remember);
        let gate = Gate::new();
        // Closures and a destructor, two of them from a thread that is gone.
        let parks = || RcuCell::new(Some(Parks(gate))).store(None).retire_hurry();
        parks();
        defer_hurry(|| gate.pass());
        crate::common::on_thread("departed", move || {
            defer_hurry(|| gate.pass());
            parks();
        });
        gate.until_reached(4);
        let ledger = Ledger::new(100);
        (0..100).for_each(|index| queue_somehow(ledger.thing(index), index));
        until("others go on", || ledger.count() == 100);
        until("all four are known", || statistics().callbacks_stuck == 4);
        until("all four are reported", || {
            REPORTS.lock().expect("no panic").len() == 4
        });
        let texts = reports();
        let of_drop = texts.iter().filter(|text| text.contains("Parks"));
        assert_eq!(of_drop.count(), 2, "{texts:?}");
        let named = |name: &str| texts.iter().filter(|text| text.contains(name)).count();
        assert_eq!(named("has not returned"), 4);
        gate.open();
        barrier();
        ledger.assert_all_once();
        until_at_rest();
        assert_eq!(statistics().callbacks_stuck, 4);
        assert!(statistics().helper_threads <= 2, "{:?}", statistics());
    });
}

#[test]
fn a_reporter_that_waits_for_the_stuck_one_stops_no_other_callback() {
    isolated(|| {
        healed::expected();
        /// What the callback holds, and the reporter wants: the lock of a log, say.
        static LOG: Mutex<u32> = Mutex::new(0);
        on_report(|_| *LOG.lock().expect("no panic") += 1);
        let gate = Gate::new();
        defer_hurry(|| {
            let _log = LOG.lock().expect("no panic");
            gate.pass();
        });
        gate.until_reached(1);
        let ledger = Ledger::new(100);
        (0..100).for_each(|index| queue_somehow(ledger.thing(index), index));
        until("others go on", || ledger.count() == 100);
        assert!(statistics().callbacks_stuck > 0);
        gate.open();
        barrier();
        ledger.assert_all_once();
        until("it has reported", || *LOG.lock().expect("no panic") > 0);
        until("who was stuck is let go", || {
            statistics().helper_threads <= 2
        });
    });
}

#[test]
fn a_reporter_may_queue_and_look() {
    in_both_modes(|| {
        healed::expected();
        static SEEN: AtomicU32 = AtomicU32::new(0);
        hush();
        on_report(|_| {
            defer_hurry(|| {
                SEEN.fetch_add(1, Ordering::AcqRel);
            });
            drop(RcuCell::new(vec![1]).store(vec![2]));
            assert!(statistics().queued > 0);
        });
        let gate = Gate::new();
        defer_hurry(|| panic!("a closure"));
        defer_hurry(|| gate.pass());
        until("both are reported", || SEEN.load(Ordering::Acquire) == 2);
        gate.open();
        barrier();
    });
}

#[test]
fn a_guard_leaked_by_a_callback_is_a_named_holdout() {
    in_both_modes(|| {
        let leaked = flag();
        defer_hurry(|| {
            std::mem::forget(read_lock());
            leaked.store(true, Ordering::Release);
        });
        until("it has leaked", || leaked.load(Ordering::Acquire));
        // As with any thread that leaks a guard: no grace period ends, the holdout has a name, and only
        // threads that wait without a timeout hang.
        let Err(SyncError::TimedOut { holdouts: found }) =
            synchronize_timeout(crate::common::SHORT)
        else {
            panic!("a grace period ended beside a leaked guard");
        };
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].name.as_deref(), Some("quiescent"));
        assert_eq!(holdouts(), found);
        let ledger = Ledger::new(2000);
        (0..2000).for_each(|index| queue_somehow(ledger.thing(index), index));
        let drained = drain(crate::common::SHORT);
        assert_eq!(drained.ran, 0);
        assert!(drained.left >= 2000, "{drained:?}");
        assert_eq!(ledger.count(), 0);
        // The worker does not turn in circles for what it cannot have.
        let before = (statistics(), crate::common::deferral::library_switches());
        thread::sleep(Duration::from_millis(500));
        let after = (statistics(), crate::common::deferral::library_switches());
        let passes = after.0.worker_passes - before.0.worker_passes;
        let errors = after.0.worker_errors - before.0.worker_errors;
        assert!(passes <= 50 && errors <= 50, "{passes} {errors}");
        assert!(after.1 - before.1 <= 100, "{} switches", after.1 - before.1);
        assert_eq!(ledger.count(), 0);
    });
}

#[test]
fn a_guard_kept_across_callbacks_may_be_dropped_later() {
    in_both_modes(|| {
        thread_local! {
            static KEPT: std::cell::RefCell<Option<quiescent::Guard>> =
                const { std::cell::RefCell::new(None) };
        }
        let dropped = flag();
        // Both on the worker, in one round: they were queued together.
        defer(|| KEPT.with(|kept| *kept.borrow_mut() = Some(read_lock())));
        defer(|| {
            KEPT.with(|kept| drop(kept.borrow_mut().take()));
            dropped.store(true, Ordering::Release);
        });
        barrier();
        assert!(dropped.load(Ordering::Acquire));
        let ledger = Ledger::new(20);
        (0..20).for_each(|index| queue_somehow(ledger.thing(index), index));
        barrier();
        ledger.assert_all_once();
        assert_eq!(synchronize_timeout(PATIENCE), Ok(()));
    });
}
