//! Callbacks that the program runs itself, on its own threads.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::common::deferral::{flag, library_sleeps};
use crate::common::{PATIENCE, in_both_modes, on_thread, thread_id, until};
use quiescent::tuning::{FlushTimes, drain_ready, on_ready, set_closures, set_flush_times};
use quiescent::{RcuCell, Runner, barrier, defer, defer_hurry, drain, statistics, synchronize};

static RAN: AtomicU32 = AtomicU32::new(0);
static ON: AtomicU32 = AtomicU32::new(0);
static NOTIFIED: AtomicU32 = AtomicU32::new(0);

fn note() {
    ON.store(thread_id(), Ordering::Relaxed);
    RAN.fetch_add(1, Ordering::Release);
}

fn ran() -> u32 {
    RAN.load(Ordering::Acquire)
}

fn notified() -> u32 {
    NOTIFIED.load(Ordering::Acquire)
}

/// A value with a destructor.
struct Noted;

impl Drop for Noted {
    fn drop(&mut self) {
        note();
    }
}

fn workers_sleep() {
    until("the worker sleeps", library_sleeps);
}

#[test]
fn the_worker_runs_none_and_tells() {
    in_both_modes(|| {
        set_closures(Runner::Drained);
        on_ready(|| {
            NOTIFIED.fetch_add(1, Ordering::Release);
            panic!("a panic in it is contained");
        });
        defer_hurry(note);
        (RcuCell::new(Some(Noted)).store(None)).retire();
        until("`on_ready` is called", || notified() > 0);
        workers_sleep();
        assert_eq!(ran(), 0);
        let passes = statistics().worker_passes;
        let drained = drain_ready(100, PATIENCE);
        assert_eq!((drained.ran, ran()), (1, 1), "the hurried one");
        assert_eq!(ON.load(Ordering::Relaxed), thread_id());
        workers_sleep();
        assert_eq!(
            statistics().worker_passes,
            passes,
            "no thread is woken for what is ready"
        );
        assert_eq!(drain(PATIENCE).left, 0);
        assert_eq!(ran(), 2);
    });
}

#[test]
fn no_more_than_asked_for_and_every_queue_gets_its_turn() {
    in_both_modes(|| {
        static LATE: AtomicU32 = AtomicU32::new(0);
        set_closures(Runner::Drained);
        on_thread("first", || (0..100).for_each(|_| defer(note)));
        on_thread("second", || {
            (0..5).for_each(|_| {
                defer(|| {
                    LATE.fetch_add(1, Ordering::Relaxed);
                });
            });
        });
        synchronize();
        assert_eq!(drain_ready(0, PATIENCE).ran, 0);
        assert_eq!(
            drain_ready(10, Duration::ZERO).ran,
            0,
            "none after the limit"
        );
        for _ in 0..21 {
            assert_eq!(drain_ready(5, PATIENCE).ran, 5);
        }
        assert_eq!((ran(), LATE.load(Ordering::Relaxed)), (100, 5));
        let after = drain_ready(5, PATIENCE);
        assert_eq!((after.ran, after.left), (0, 0));
    });
}

#[test]
fn a_bounded_drain_does_not_wait() {
    in_both_modes(|| {
        set_closures(Runner::Drained);
        // No time comes at which the worker looks at the queue.
        set_flush_times(FlushTimes {
            lazy: Duration::MAX,
            prompt: Duration::MAX,
        });
        let reader = crate::common::Reader::inside("reads");
        defer(note);
        let before = statistics();
        let drained = drain_ready(100, PATIENCE);
        assert_eq!((drained.ran, drained.left), (0, 1));
        let after = statistics();
        let fences = |s: quiescent::stats::Statistics| s.fences_gp + s.fences_flag + s.fences_take;
        assert_eq!(fences(after), fences(before));
        reader.end();
        assert_eq!(drain(PATIENCE).left, 0);
    });
}

/// Without a limit of time it takes several out at once; the parent runs them.
#[cfg(unix)]
#[test]
fn a_callback_forks_and_the_child_runs_no_other_one() {
    needs!(fork);
    in_both_modes(|| {
        static CHILD: AtomicU32 = AtomicU32::new(1);
        set_closures(Runner::Drained);
        on_thread("queues", || {
            defer(|| {
                note();
                // SAFETY: the child makes only calls that this library permits there.
                CHILD.store(unsafe { libc::fork() }.cast_unsigned(), Ordering::Relaxed);
            });
            (0..5).for_each(|_| defer(note));
        });
        synchronize();
        let drained = drain_ready(u64::MAX, Duration::MAX);
        let child = CHILD.load(Ordering::Relaxed).cast_signed();
        if child == 0 {
            // SAFETY: takes a number.
            unsafe { libc::_exit(i32::from(ran() != 1)) };
        }
        let mut status = -1;
        // SAFETY: `status` is writable.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        assert_eq!((status, drained.ran, ran()), (0, 6, 6));
    });
}

#[test]
fn what_is_plain_memory_is_freed_all_the_same() {
    in_both_modes(|| {
        set_closures(Runner::Drained);
        let soon = Duration::from_millis(10);
        set_flush_times(FlushTimes {
            lazy: soon,
            prompt: soon,
        });
        defer(note);
        (RcuCell::new([0u64; 9]).store([1; 9])).retire();
        until("it is freed", || statistics().queued == 1);
        assert_eq!(ran(), 0);
        workers_sleep();
        let passes = statistics().worker_passes;
        // The same thread continues. A callback that waits to be drained does not wake the worker.
        set_flush_times(FlushTimes {
            lazy: Duration::MAX,
            prompt: Duration::MAX,
        });
        for n in 0..5 {
            (RcuCell::new([n; 9]).store([1; 9])).retire();
        }
        workers_sleep();
        assert_eq!(
            (statistics().worker_passes, statistics().queued),
            (passes, 6)
        );
        assert_eq!(drain(PATIENCE).ran, 6);
    });
}

#[test]
fn a_barrier_waits_for_who_drains() {
    in_both_modes(|| {
        set_closures(Runner::Drained);
        defer(note);
        let over = flag();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                barrier();
                over.store(true, Ordering::Release);
            });
            until("the barrier is complete", || {
                drain_ready(1, PATIENCE);
                over.load(Ordering::Acquire)
            });
        });
        assert_eq!(ran(), 1);
    });
}

#[test]
fn switched_off_the_worker_goes_on_with_what_is_there() {
    in_both_modes(|| {
        set_closures(Runner::Drained);
        for round in 1..=20 {
            defer(note);
            defer_hurry(note);
            if round % 2 == 0 {
                synchronize();
                workers_sleep();
            }
            set_closures(Runner::Worker);
            until("both have run", || ran() == 2 * round);
            assert_ne!(ON.load(Ordering::Relaxed), thread_id());
            set_closures(Runner::Drained);
        }
    });
}
