//! A driver is stopped between two of its steps: another thread takes over its role, and the driver continues
//! correctly when it returns. The same for a waiter that is stopped just when it is asked to drive.
//!
//! Threads are stopped where a test wants it: `syscall` and the allocator wait at a gate, and a signal
//! handler that does not return stops a sleeping thread. (A thread stopped under a lock blocks the others:
//! see `limitations`.)

pub mod places;

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::Duration;

use crate::common::{PATIENCE, Reader, SHORT, in_both_modes, isolated, sleepers, thread_id, until};
use places::{Handler, Place, stop_at};
use quiescent::{
    FenceMode, SyncError, defer_hurry, read, start_grace_period, statistics, synchronize,
    synchronize_timeout,
};
use quiescent_core::{needs, os::HAS};

/// Waiters behind the driver that is stopped.
const WAITERS: usize = 4;

/// A thread that calls `synchronize` and is stopped at `place` when this returns.
fn stopped<'s>(
    scope: &'s Scope<'s, '_>,
    place: Place,
) -> (
    ScopedJoinHandle<'s, ()>,
    &'static crate::common::deferral::Gate,
) {
    let gate = crate::common::deferral::Gate::new();
    let driver = scope.spawn(move || {
        stop_at(place, gate);
        synchronize();
    });
    gate.until_reached(1);
    (driver, gate)
}

/// In which system call a thread sleeps, and on what.
fn sleeps_on(thread: u32) -> Vec<String> {
    let call = std::fs::read_to_string(format!("/proc/self/task/{thread}/syscall"));
    let call = call.expect("a thread of this process");
    call.split(' ').take(2).map(str::to_owned).collect()
}

/// A driver is stopped at `place`: waiters come, a poller, one with a deadline, and callbacks. They all get
/// there.
fn others_get_there(place: Place) {
    let idle = Reader::idle("idle"); // so that there is a fence, and a scan
    thread::scope(|scope| {
        let before = statistics();
        let (driver, gate) = stopped(scope, place);
        let waiters = [(); WAITERS].map(|()| scope.spawn(synchronize));
        let impatient = scope.spawn(|| synchronize_timeout(PATIENCE));
        waiters
            .into_iter()
            .for_each(|waiter| waiter.join().expect("no panic"));
        assert_eq!(impatient.join().expect("no panic"), Ok(()));
        assert!(!driver.is_finished());
        let takeovers = statistics().takeovers - before.takeovers;
        assert!(takeovers > 0, "the role was taken");
        // No thread waits for it any more: no check is needed from here on.
        let ran = crate::common::deferral::flag();
        defer_hurry(|| ran.store(true, Ordering::Release));
        until("the worker gets there", || ran.load(Ordering::Acquire));
        (0..50).for_each(|_| synchronize());
        let cookie = start_grace_period();
        until("polling gets there", || cookie.is_done());
        assert!(!driver.is_finished());
        gate.open();
        driver.join().expect("no panic");
        synchronize();
    });
    let after = statistics();
    assert_eq!((after.stalls, after.busy, after.holdouts), (0, false, 0));
    idle.end();
}

#[test]
fn a_driver_stopped_at_its_fence_is_replaced() {
    needs!(fence);
    isolated(|| {
        others_get_there(Place::Fence);
    });
}

#[test]
fn a_driver_stopped_while_it_makes_records_is_replaced() {
    in_both_modes(|| {
        others_get_there(Place::Allocation);
    });
}

#[test]
fn a_poller_alone_replaces_a_driver_that_is_stopped() {
    needs!(fence);
    isolated(|| {
        let idle = Reader::idle("idle");
        thread::scope(|scope| {
            let (driver, gate) = stopped(scope, Place::Fence);
            let cookie = start_grace_period();
            until("polling gets there", || cookie.is_done());
            assert!(statistics().takeovers > 0 && !driver.is_finished());
            gate.open();
        });
        idle.end();
    });
}

#[test]
fn the_worker_alone_replaces_a_driver_that_is_stopped() {
    needs!(fence);
    isolated(|| {
        let idle = Reader::idle("idle");
        thread::scope(|scope| {
            let (driver, gate) = stopped(scope, Place::Fence);
            let ran = crate::common::deferral::flag();
            defer_hurry(|| ran.store(true, Ordering::Release));
            until("the worker gets there", || ran.load(Ordering::Acquire));
            assert!(statistics().takeovers > 0 && !driver.is_finished());
            gate.open();
        });
        idle.end();
    });
}

#[test]
fn waiters_that_a_stopped_driver_has_not_woken_return() {
    needs!(HAS.signals, "futexes of the library's own");
    in_both_modes(|| {
        let inside = Reader::inside("inside");
        thread::scope(|scope| {
            let gate = crate::common::deferral::Gate::new();
            let sleeping = statistics().sleeps;
            let driver = scope.spawn(|| {
                // The first that it wakes: one that waits for the grace period it drives, or is to drive
                // next.
                stop_at(Place::Wake, gate);
                synchronize();
            });
            until("the driver sleeps", || statistics().sleeps > sleeping);
            let waiters = sleepers(scope, WAITERS, synchronize);
            inside.end();
            gate.until_reached(1);
            waiters
                .into_iter()
                .for_each(|waiter| waiter.join().expect("no panic"));
            assert!(!driver.is_finished());
            gate.open();
        });
        assert_eq!((statistics().stalls, statistics().busy), (0, false));
    });
}

#[test]
fn a_driver_stopped_in_its_sleep_is_replaced_once_it_was_woken() {
    in_both_modes(|| {
        let handler = Handler::install();
        for _ in 0..3 {
            let inside = Reader::inside("inside");
            let before = statistics();
            thread::scope(|scope| {
                let (send, id) = std::sync::mpsc::channel();
                let driver = scope.spawn(move || {
                    send.send(thread_id()).expect("the test waits");
                    synchronize();
                });
                until("the driver sleeps", || statistics().sleeps > before.sleeps);
                handler.stop(id.recv().expect("it says so"));
                let waiters = sleepers(scope, WAITERS, synchronize);
                // While the reader is inside, no other driver could make progress.
                thread::sleep(Duration::from_millis(300));
                assert_eq!(statistics().takeovers, before.takeovers);
                inside.end();
                waiters
                    .into_iter()
                    .for_each(|waiter| waiter.join().expect("no panic"));
                assert!(!driver.is_finished());
                assert!(statistics().takeovers > before.takeovers);
                handler.go_on();
            });
            assert_eq!((statistics().stalls, statistics().busy), (0, false));
        }
    });
}

#[test]
fn one_that_comes_back_from_its_sleep_leaves_the_next_driver_asleep() {
    // Where readers execute fences, the driver looks by itself.
    needs!(fence);
    isolated(|| {
        let handler = Handler::install();
        let (first, second) = (Reader::inside("first"), Reader::inside("second"));
        thread::scope(|scope| {
            let (send, id) = std::sync::mpsc::channel();
            let old = scope.spawn(move || {
                send.send(thread_id()).expect("the test waits");
                synchronize();
            });
            until("the driver sleeps", || statistics().sleeps == 1);
            handler.stop(id.recv().expect("it says so"));
            let next = sleepers(scope, 1, synchronize);
            first.end();
            until("the next driver sleeps", || statistics().sleeps == 2);
            handler.go_on();
            until("the old one waits", || statistics().reader_wakeups == 1);
            thread::sleep(SHORT);
            assert!(!old.is_finished());
            second.end(); // wakes the next driver, or it sleeps until it counts a stall
            old.join().expect("no panic");
            next.into_iter()
                .for_each(|next| next.join().expect("no panic"));
        });
        let after = statistics();
        assert_eq!(
            (after.stalls, after.reader_wakeups, after.busy),
            (0, 2, false)
        );
    });
}

#[test]
fn a_reader_stopped_before_it_wakes_the_driver_delays_no_waiter() {
    // Where readers execute fences, the driver looks by itself.
    needs!(fence);
    isolated(|| {
        let gate = crate::common::deferral::Gate::new();
        let second = Reader::inside("second");
        thread::scope(|scope| {
            let (end, ended) = std::sync::mpsc::channel::<()>();
            let (ready, is_ready) = std::sync::mpsc::channel();
            let first = scope.spawn(move || {
                let guard = quiescent::read_lock();
                ready.send(()).expect("the test waits");
                let _ = ended.recv();
                stop_at(Place::WakeDriver, gate);
                drop(guard);
            });
            is_ready.recv().expect("it reads");
            let (send, id) = std::sync::mpsc::channel();
            let driver = scope.spawn(move || {
                send.send(thread_id()).expect("the test waits");
                synchronize();
            });
            let id = id.recv().expect("it says so");
            until("the driver sleeps", || {
                statistics().sleeps == 1 && crate::common::sleeps(id)
            });
            let place = sleeps_on(id);
            let waiters = sleepers(scope, 1, synchronize);
            drop(end);
            gate.until_reached(1);
            // The driver sleeps on, though its word says otherwise: another one drives, and sleeps too. It
            // wakes the old one, which becomes a waiter; else the next reader's wake-up would go to that.
            until("the next driver sleeps", || statistics().sleeps == 2);
            until("the old one waits for its turn", || {
                crate::common::sleeps(id) && sleeps_on(id) != place
            });
            second.end();
            driver.join().expect("no panic");
            waiters
                .into_iter()
                .for_each(|waiter| waiter.join().expect("no panic"));
            assert!(!first.is_finished());
            gate.open();
        });
        assert_eq!((statistics().stalls, statistics().busy), (0, false));
    });
}

#[test]
fn a_waiter_stopped_when_it_is_asked_to_drive_is_passed_over() {
    in_both_modes(|| {
        let handler = Handler::install();
        let inside = Reader::inside("inside");
        let sleeping = statistics().sleeps;
        thread::scope(|scope| {
            let driver = scope.spawn(synchronize);
            until("the driver sleeps", || statistics().sleeps > sleeping);
            let (send, id) = std::sync::mpsc::channel();
            let first = scope.spawn(move || {
                send.send(thread_id()).expect("the test waits");
                synchronize();
            });
            let id = id.recv().expect("it says so");
            until("it waits", || crate::common::sleeps(id));
            handler.stop(id);
            let others = sleepers(scope, WAITERS, synchronize);
            inside.end();
            driver.join().expect("no panic");
            others
                .into_iter()
                .for_each(|waiter| waiter.join().expect("no panic"));
            assert!(!first.is_finished());
            handler.go_on();
        });
        assert_eq!((statistics().stalls, statistics().busy), (0, false));
    });
}

#[test]
fn a_fence_that_comes_back_late_is_not_believed() {
    needs!(fence);
    isolated(|| {
        let idle = Reader::idle("idle");
        thread::scope(|scope| {
            let (old, gate) = stopped(scope, Place::Fence);
            synchronize(); // takes the role, and both grace periods end
            let (next, its_gate) = stopped(scope, Place::Fence);
            // A grace period waits for its fence. The other one comes back with what it has.
            let before = statistics();
            gate.open();
            old.join().expect("no panic");
            let (meanwhile, waits) = (statistics(), !next.is_finished());
            // Who takes the role now issues a fence of its own for it, and one for a grace period of its own.
            synchronize();
            let after = statistics();
            its_gate.open();
            next.join().expect("no panic");
            assert_eq!(meanwhile.scans, before.scans, "readers were looked at");
            assert_eq!(meanwhile.grace_periods, before.grace_periods);
            assert!(meanwhile.busy && waits);
            assert_eq!(after.grace_periods, before.grace_periods + 2);
            assert_eq!(after.fences_gp, before.fences_gp + 2);
        });
        idle.end();
    });
}

#[test]
fn several_drivers_stopped_one_after_the_other() {
    needs!(fence);
    isolated(|| {
        let idle = Reader::idle("idle");
        thread::scope(|scope| {
            let stopped: Vec<_> = (0..4).map(|_| stopped(scope, Place::Fence)).collect();
            assert!(statistics().takeovers >= 3, "one from the other");
            synchronize();
            for (driver, gate) in stopped.into_iter().rev() {
                assert!(!driver.is_finished());
                gate.open();
                driver.join().expect("no panic");
            }
        });
        assert_eq!((statistics().stalls, statistics().busy), (0, false));
        idle.end();
    });
}

#[test]
fn one_that_comes_back_unsatisfied_waits_at_its_old_place() {
    needs!(fence);
    isolated(|| {
        let inside = Reader::inside("inside");
        thread::scope(|scope| {
            let sleeping = statistics().sleeps;
            let (old, gate) = stopped(scope, Place::Fence);
            let waiters = [(); WAITERS].map(|()| scope.spawn(synchronize));
            until("another one drives, and sleeps for the reader", || {
                statistics().sleeps > sleeping
            });
            gate.open();
            // It is neither satisfied nor the driver: it is woken with the others, or before them.
            thread::sleep(SHORT);
            assert!(!old.is_finished());
            inside.end();
            old.join().expect("no panic");
            waiters
                .into_iter()
                .for_each(|waiter| waiter.join().expect("no panic"));
        });
        assert_eq!((statistics().stalls, statistics().busy), (0, false));
    });
}

#[test]
fn a_driver_that_sleeps_for_a_reader_keeps_its_role() {
    in_both_modes(|| {
        let inside = Reader::inside("inside");
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            let sleeping = statistics().sleeps;
            scope.spawn(|| {
                synchronize();
                done.store(true, Ordering::Release);
            });
            until("the driver sleeps", || statistics().sleeps > sleeping);
            let waiters = sleepers(scope, WAITERS, synchronize);
            let before = statistics();
            let result = synchronize_timeout(Duration::from_millis(1200));
            assert!(
                matches!(result, Err(SyncError::TimedOut { .. })),
                "{result:?}"
            );
            let after = statistics();
            assert_eq!(after.takeovers, before.takeovers);
            // Where readers execute fences, it looks after 0.1 ms, 0.2 ms, and so on, up to a second.
            let looks = match after.fence_mode {
                FenceMode::Membarrier => 0,
                _ => 15,
            };
            assert!(after.scans <= before.scans + looks, "{before:?} {after:?}");
            assert!(
                after.sleeps <= before.sleeps + looks,
                "{before:?} {after:?}"
            );
            assert!(!done.load(Ordering::Acquire));
            inside.end();
            waiters
                .into_iter()
                .for_each(|waiter| waiter.join().expect("no panic"));
        });
        read(|_| ());
        assert_eq!(statistics().stalls, 0);
    });
}
