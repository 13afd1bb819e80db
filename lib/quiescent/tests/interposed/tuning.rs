//! Settings of a running program: which threads reclaim, and flush times.

use std::alloc::Layout;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use crate::clocks::shifted;
use crate::common::deferral::{flag, library_threads};
use crate::common::{Reader, in_both_modes, isolated, on_thread, sleeps, thread_id, until};
use quiescent::intrusive::{self, Head};
use quiescent::tuning::{
    FLUSH, FlushTimes, PROMPT, flush_times, set_flush_times, set_on_worker, set_thread_on_worker,
};
use quiescent::{RcuCell, Retired, barrier, defer, defer_hurry, defer_lazy, statistics};

/// Only the tests allocate objects of this size.
const SIZE: usize = 777;
/// More than a few batches.
const MANY: u64 = 3 * 2048 + 500;

type Object = [u8; SIZE];

/// How many of them have been given back, and how many of those by the thread that is watched.
static FREED: AtomicU64 = AtomicU64::new(0);
static FREED_HERE: AtomicU64 = AtomicU64::new(0);
static WATCHED: AtomicU32 = AtomicU32::new(0);

/// A piece of memory is given back.
pub fn note_freed(layout: Layout) {
    if layout.size() == SIZE {
        FREED.fetch_add(1, Ordering::Relaxed);
        if WATCHED.load(Ordering::Relaxed) == thread_id() {
            FREED_HERE.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn object() -> NonNull<Object> {
    NonNull::from(Box::leak(Box::new([0; SIZE])))
}

fn retire_one() {
    // SAFETY: from a box, not reachable, retired once.
    unsafe { Retired::from_raw(object()).retire() };
}

fn retire_one_on_worker() {
    // SAFETY: as above.
    unsafe { Retired::from_raw(object()).on_worker().retire() };
}

/// How many of the objects the calling thread gives back itself meanwhile.
fn watched(body: impl FnOnce()) -> u64 {
    FREED_HERE.store(0, Ordering::Relaxed);
    WATCHED.store(thread_id(), Ordering::Relaxed);
    body();
    WATCHED.store(0, Ordering::Relaxed);
    FREED_HERE.load(Ordering::Relaxed)
}

/// Retires so many on a thread of its own; how many of them that thread has freed itself.
fn freed_by_its_thread(n: u64, before: impl FnOnce() + Send + 'static, retire: fn()) -> u64 {
    let freed = FREED.load(Ordering::Relaxed);
    let here = on_thread("retires", move || {
        before();
        watched(|| (0..n).for_each(|_| retire()))
    });
    barrier();
    assert_eq!(FREED.load(Ordering::Relaxed) - freed, n, "each once");
    assert_eq!(statistics().queued, 0);
    here
}

#[test]
fn offloaded_threads_free_nothing_and_lose_nothing() {
    in_both_modes(|| {
        let idle = Reader::idle("idle"); // so that grace periods need a fence
        assert!(freed_by_its_thread(MANY, || (), retire_one) > 0);
        set_on_worker(true);
        assert_eq!(freed_by_its_thread(MANY, || (), retire_one), 0);
        // One of them wants to do it itself all the same.
        let itself = || set_thread_on_worker(Some(false));
        assert!(freed_by_its_thread(MANY, itself, retire_one) > 0);
        // That wish ended with its thread.
        assert_eq!(freed_by_its_thread(MANY, || (), retire_one), 0);
        set_on_worker(false);
        assert!(freed_by_its_thread(MANY, || (), retire_one) > 0);
        idle.end();
    });
}

#[test]
fn one_thread_alone_is_offloaded() {
    in_both_modes(|| {
        let wish = || set_thread_on_worker(Some(true));
        assert_eq!(freed_by_its_thread(MANY, wish, retire_one), 0);
        // Not even what is done already: it stops in the middle of a batch.
        let freed = FREED.load(Ordering::Relaxed);
        let (queued, before, after) = on_thread("changes its mind", || {
            let mut queued = 600;
            let before = watched(|| {
                while FREED_HERE.load(Ordering::Relaxed) == 0 && queued < MANY {
                    retire_one();
                    queued += 1;
                }
            });
            set_thread_on_worker(Some(true));
            retire_one(); // finds out
            let after = watched(|| (0..600).for_each(|_| retire_one()));
            (queued + 1, before, after)
        });
        assert!(before > 0, "it frees its own at first");
        assert_eq!(after, 0);
        barrier();
        assert_eq!(FREED.load(Ordering::Relaxed) - freed, queued, "each once");
        let change_of_mind = || {
            set_thread_on_worker(Some(true));
            set_thread_on_worker(None);
        };
        assert!(freed_by_its_thread(MANY, change_of_mind, retire_one) > 0);
    });
}

#[test]
fn retiring_without_reclaiming_frees_nothing_here() {
    in_both_modes(|| {
        let none = freed_by_its_thread(MANY, || (), retire_one_on_worker);
        assert_eq!(none, 0);
        // After others have made a grace period and left objects that are done.
        let done_ones = || {
            (0..MANY).for_each(|_| retire_one());
            quiescent::synchronize();
        };
        let freed = FREED.load(Ordering::Relaxed);
        let here = on_thread("mixes", move || {
            done_ones();
            watched(|| (0..MANY).for_each(|_| retire_one_on_worker()))
        });
        assert_eq!(here, 0);
        barrier();
        assert_eq!(FREED.load(Ordering::Relaxed) - freed, 2 * MANY);
    });
}

#[test]
fn a_full_batch_of_an_offloaded_thread_does_not_wait_for_the_flush() {
    in_both_modes(|| {
        // So that only the batch can be the reason.
        let lazy = Duration::from_secs(1_000_000);
        set_flush_times(FlushTimes { lazy, prompt: lazy });
        set_on_worker(true);
        let freed = FREED.load(Ordering::Relaxed);
        on_thread("retires", || (0..MANY).for_each(|_| retire_one()));
        until("a batch is freed", || {
            FREED.load(Ordering::Relaxed) - freed >= 2048
        });
        let before = FREED.load(Ordering::Relaxed);
        on_thread("retires", || (0..MANY).for_each(|_| retire_one_on_worker()));
        until("another is, too", || {
            FREED.load(Ordering::Relaxed) - before >= 2048
        });
        barrier();
        assert_eq!(FREED.load(Ordering::Relaxed) - freed, 2 * MANY);
    });
}

#[test]
fn toggling_under_load_loses_nothing() {
    in_both_modes(|| {
        static STOP: AtomicBool = AtomicBool::new(false);
        let freed = FREED.load(Ordering::Relaxed);
        let start = Arc::new(Barrier::new(3));
        let producers: Vec<_> = (0..2)
            .map(|_| {
                let start = Arc::clone(&start);
                thread::spawn(move || {
                    start.wait();
                    let mut n = 0;
                    while !STOP.load(Ordering::Relaxed) {
                        (0..100).for_each(|_| retire_one());
                        (0..20).for_each(|_| retire_one_on_worker());
                        n += 120;
                    }
                    n
                })
            })
            .collect();
        start.wait();
        for round in 0..400 {
            set_on_worker(round % 2 == 0);
            if round % 50 == 0 {
                quiescent::drain(Duration::ZERO);
            }
            thread::yield_now();
        }
        STOP.store(true, Ordering::Relaxed);
        let retired: u64 = producers
            .into_iter()
            .map(|p| p.join().expect("it returns"))
            .sum();
        barrier();
        assert_eq!(FREED.load(Ordering::Relaxed) - freed, retired, "each once");
        assert_eq!((statistics().queued, statistics().queued_bytes), (0, 0));
    });
}

#[test]
fn lazy_calls_wait_for_company() {
    in_both_modes(|| {
        assert_eq!(
            flush_times(),
            FlushTimes {
                lazy: FLUSH,
                prompt: PROMPT
            }
        );
        // So in this test a lazy callback runs only because another one causes a run.
        let lazy = Duration::from_secs(1_000_000);
        set_flush_times(FlushTimes {
            lazy,
            prompt: PROMPT,
        });
        // The worker has started and sleeps again, so that no pass of it is a coincidence.
        let warm = flag();
        defer_hurry(|| warm.store(true, Ordering::Release));
        barrier();
        let asleep = || library_threads().into_iter().all(sleeps);
        until("the worker sleeps", asleep);
        let before = statistics().worker_passes;
        let (first, second) = (flag(), flag());
        defer_lazy(|| first.store(true, Ordering::Release));
        on_thread("another", quiescent::synchronize);
        assert!(!first.load(Ordering::Acquire));
        assert_eq!(
            statistics().worker_passes,
            before,
            "no thread was woken for it"
        );
        // That grace period served it: the next run of callbacks, for whatever reason, runs it too.
        on_thread("another", || {
            let hurried = flag();
            defer_hurry(|| hurried.store(true, Ordering::Release));
            until("a hurried one has run", || hurried.load(Ordering::Acquire));
        });
        until("the lazy one has run", || first.load(Ordering::Acquire));
        // When a prompt callback of this thread runs, a lazy one runs, too.
        let third = flag();
        defer_lazy(|| second.store(true, Ordering::Release));
        defer(|| third.store(true, Ordering::Release));
        until("both have run", || {
            second.load(Ordering::Acquire) && third.load(Ordering::Acquire)
        });
    });
}

#[test]
fn a_barrier_does_not_leave_lazy_ones_behind() {
    in_both_modes(|| {
        static RAN: AtomicU32 = AtomicU32::new(0);
        unsafe fn count(head: NonNull<Head>) {
            // SAFETY: a box of a head, below.
            drop(unsafe { Box::from_raw(head.as_ptr()) });
            RAN.fetch_add(1, Ordering::Relaxed);
        }
        for n in 1..=10 {
            defer_lazy(|| {
                RAN.fetch_add(1, Ordering::Relaxed);
            });
            let head = NonNull::from(Box::leak(Box::new(Head::new())));
            // SAFETY: it stays there until `count` frees it.
            unsafe { intrusive::defer_lazy(head, count) };
            barrier();
            assert_eq!(RAN.load(Ordering::Relaxed), 2 * n);
        }
    });
}

#[test]
fn a_shorter_flush_time_counts_for_what_is_queued() {
    in_both_modes(|| {
        set_flush_times(FlushTimes {
            lazy: Duration::MAX,
            prompt: Duration::MAX,
        });
        let ran = flag();
        let freed = FREED.load(Ordering::Relaxed);
        defer(|| ran.store(true, Ordering::Release));
        on_thread("departs", || (0..10).for_each(|_| retire_one()));
        assert!(!ran.load(Ordering::Acquire));
        let soon = Duration::from_millis(20);
        set_flush_times(FlushTimes {
            lazy: soon,
            prompt: soon,
        });
        assert_eq!(flush_times().lazy, soon);
        until("it has run", || ran.load(Ordering::Acquire));
        until("they are freed", || {
            FREED.load(Ordering::Relaxed) - freed == 10
        });
        crate::common::deferral::until_at_rest();
        assert!(!statistics().timer_armed, "and then nothing is left to do");
    });
}

#[test]
fn zero_is_at_once() {
    isolated(|| {
        shifted::switch_on();
        set_flush_times(FlushTimes {
            lazy: Duration::ZERO,
            prompt: Duration::ZERO,
        });
        let cell = RcuCell::new([0u8; SIZE]);
        for round in 1..=3 {
            let freed = FREED.load(Ordering::Relaxed);
            cell.store([1; SIZE]).retire();
            until("it is freed", || FREED.load(Ordering::Relaxed) > freed);
            let ran = flag();
            defer(|| ran.store(true, Ordering::Release));
            until("it has run", || ran.load(Ordering::Acquire));
            // Whatever time has passed: the worker was called for that moment, and for no later one.
            let longest = shifted::LONGEST.load(Ordering::Acquire);
            assert_eq!(longest, 0, "ns ahead, in round {round}");
            let flushes = statistics().flushes;
            assert_eq!((flushes.hurry, flushes.batch), (0, 0));
            assert!(flushes.lazy + flushes.prompt >= round, "{flushes:?}");
        }
    });
}

#[test]
fn what_is_offloaded_can_be_drained() {
    isolated(|| {
        set_on_worker(true);
        let freed = FREED.load(Ordering::Relaxed);
        (0..MANY).for_each(|_| retire_one());
        assert_eq!(quiescent::drain(crate::common::PATIENCE).left, 0);
        assert_eq!(FREED.load(Ordering::Relaxed) - freed, MANY);
    });
}
