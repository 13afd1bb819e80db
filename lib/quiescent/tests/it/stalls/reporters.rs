//! Reporters: what they may do, and what they cannot break.

use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::thread;

use quiescent::report::{Report, on_report, set_stall_after};
use quiescent::stats::holdouts;
use quiescent::{
    RcuCell, SyncError, barrier, defer, defer_hurry, drain, read, start_grace_period, statistics,
    synchronize, synchronize_timeout, try_barrier, try_synchronize,
};

use super::{TIME, listen, reported};
use crate::common::deferral::{Gate, flag, until_at_rest};
use crate::common::healed;
use crate::common::{PATIENCE, Reader, in_both_modes, sleepers, until};

static CALLS: AtomicU32 = AtomicU32::new(0);
static RAN: AtomicU32 = AtomicU32::new(0);

/// Uses everything, and tries what it must not.
fn busy(report: &Report) {
    let Report::Stalled(_) = report else { return };
    drop(RcuCell::new(1).store(2));
    drop(RcuCell::new(String::from("with a destructor")).store(String::new()));
    defer(|| {
        RAN.fetch_add(1, Ordering::Release);
    });
    defer_hurry(|| {
        RAN.fetch_add(1, Ordering::Release);
    });
    assert!(statistics().busy && holdouts().len() == 1);
    assert_eq!(read(|guard| *RcuCell::new(5).load(guard)), 5);
    assert!(!start_grace_period().is_done());
    assert_eq!(try_synchronize(), Err(SyncError::InsideCallback));
    assert_eq!(try_barrier(), Err(SyncError::InsideCallback));
    CALLS.fetch_add(1, Ordering::Release);
}

#[test]
fn a_reporter_may_use_the_library() {
    in_both_modes(|| {
        healed::expected();
        on_report(busy);
        set_stall_after(TIME);
        let slow = Reader::inside("slow");
        thread::scope(|scope| {
            let callers = sleepers(scope, 2, synchronize);
            defer_hurry(|| ());
            until("it has returned", || CALLS.load(Ordering::Acquire) >= 2);
            set_stall_after(std::time::Duration::ZERO);
            slow.end();
            for caller in callers {
                caller.join().expect("no panic");
            }
        });
        assert_eq!(drain(PATIENCE).left, 0);
        assert_eq!(
            RAN.load(Ordering::Acquire),
            2 * CALLS.load(Ordering::Acquire)
        );
        until_at_rest();
        // Waiters may wait again.
        synchronize();
    });
}

#[test]
fn a_panic_in_a_reporter_is_contained() {
    in_both_modes(|| {
        healed::expected();
        std::panic::set_hook(Box::new(|_| ()));
        on_report(|report| {
            CALLS.fetch_add(1, Ordering::Release);
            panic!("{report}");
        });
        set_stall_after(TIME);
        let slow = Reader::inside("slow");
        until("the waiter tells, and goes on", || {
            let result = synchronize_timeout(3 * TIME);
            assert!(matches!(result, Err(SyncError::TimedOut { .. })));
            CALLS.load(Ordering::Acquire) >= 1
        });
        let ran = flag();
        defer_hurry(|| ran.store(true, Ordering::Release));
        let before = CALLS.load(Ordering::Acquire);
        until("the worker tells", || {
            CALLS.load(Ordering::Acquire) > before
        });
        slow.end();
        until("the worker goes on", || ran.load(Ordering::Acquire));
        assert_eq!(statistics().callback_panics, 0, "it was no callback");
        synchronize();
    });
}

static GATE: AtomicPtr<Gate> = AtomicPtr::new(std::ptr::null_mut());

/// A reporter that waits at a gate; it ignores reports of stuck callbacks.
fn gate_the_reporter() -> &'static Gate {
    healed::expected();
    let gate = Gate::new();
    GATE.store(std::ptr::from_ref(gate).cast_mut(), Ordering::Release);
    on_report(|report| {
        if let Report::Stalled(_) = report {
            // SAFETY: a gate that is kept for ever.
            unsafe { &*GATE.load(Ordering::Acquire) }.pass();
        }
    });
    set_stall_after(TIME);
    gate
}

#[test]
fn a_reporter_that_takes_its_time_holds_up_no_other_waiter() {
    in_both_modes(|| {
        let gate = gate_the_reporter();
        let slow = Reader::inside("slow");
        thread::scope(|scope| {
            let mut callers = sleepers(scope, 3, synchronize);
            gate.until_reached(1);
            set_stall_after(std::time::Duration::ZERO);
            slow.end();
            until("all return but those who are in the reporter", || {
                let inside = gate.reached.load(Ordering::Acquire) as usize;
                callers.iter().filter(|caller| caller.is_finished()).count() + inside >= 3
            });
            synchronize();
            assert!(callers.iter().any(|caller| !caller.is_finished()));
            gate.open();
            callers
                .drain(..)
                .for_each(|caller| caller.join().expect("no panic"));
        });
    });
}

#[test]
fn a_reporter_that_never_returns_costs_the_worker_its_role_and_no_more() {
    in_both_modes(|| {
        let gate = gate_the_reporter();
        let slow = Reader::inside("slow");
        let ran = flag();
        defer_hurry(|| ran.store(true, Ordering::Release));
        gate.until_reached(1);
        set_stall_after(std::time::Duration::ZERO);
        until("another worker is there", || {
            statistics().callbacks_stuck == 1
        });
        slow.end();
        until("it runs what is queued", || ran.load(Ordering::Acquire));
        barrier();
        gate.open();
        until_at_rest();
    });
}

#[test]
fn a_callback_that_polls_tells_and_the_worker_goes_on() {
    in_both_modes(|| {
        listen(TIME);
        for round in 1..=2 {
            let ran = flag();
            defer_hurry(move || {
                let (slow, before) = (Reader::inside("slow"), reported().len());
                let cookie = start_grace_period();
                until("a poll tells", || {
                    !cookie.is_done() && reported().len() > before
                });
                slow.end();
                until("the poll succeeds", || cookie.is_done());
                ran.store(true, Ordering::Release);
            });
            until("it is through", || ran.load(Ordering::Acquire));
            barrier();
            assert!(reported().len() >= round);
        }
        assert_eq!(statistics().callbacks_stuck, 0);
        until_at_rest();
    });
}

static DEEP: AtomicU32 = AtomicU32::new(0);
static DEEPEST: AtomicU32 = AtomicU32::new(0);

/// It polls until the next report is due long since.
fn patient(_: &Report) {
    let deep = DEEP.fetch_add(1, Ordering::AcqRel) + 1;
    DEEPEST.fetch_max(deep, Ordering::AcqRel);
    let before = statistics().stalls;
    let cookie = start_grace_period();
    until("another report is due", || {
        !cookie.is_done() && statistics().stalls > before
    });
    DEEP.fetch_sub(1, Ordering::AcqRel);
    CALLS.fetch_add(1, Ordering::Release);
}

#[test]
fn a_reporter_that_polls_is_not_called_from_within_itself() {
    in_both_modes(|| {
        healed::expected();
        on_report(patient);
        set_stall_after(TIME / 10);
        let slow = Reader::inside("slow");
        let cookie = start_grace_period();
        until("a poll tells", || {
            !cookie.is_done() && CALLS.load(Ordering::Acquire) >= 2
        });
        assert_eq!(DEEPEST.load(Ordering::Acquire), 1);
        slow.end();
        until("the poll succeeds", || cookie.is_done());
    });
}
