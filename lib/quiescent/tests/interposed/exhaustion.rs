//! Exhausted resources: each row of the table in `limitations`, with its counter; and nothing is lost but in
//! the one documented case.
//!
//! (See also `no_worker` for descriptors, `worker_errors` and `membarrier` of the program `it` for fences,
//! and `out_of_memory.rs` for readers without memory for slots.)

pub mod meagre;

use std::future::Future;
use std::pin::pin;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

use crate::common::deferral::{Ledger, WAYS, queue_somehow};
use crate::common::{PATIENCE, Reader, in_both_modes, isolated, until};
use meagre::{COUNTED, Refuse, refusing, start_counting, without_threads};
use quiescent::{
    Options, RcuCell, SyncError, barrier, defer, drain, grace_period, read, read_lock, statistics,
    synchronize, try_barrier, try_synchronize,
};
use quiescent_core::{needs, os::HAS};

/// More than one block holds, and more than two.
const MANY: usize = 700;

/// A value of the counted size, which runs no code when it goes.
type Plain = [u64; COUNTED / 8];

#[test]
fn memory_for_places_what_leaks_is_counted_and_nothing_else_is_lost() {
    in_both_modes(|| {
        let counting = start_counting();
        let ledger = Ledger::new(3 * MANY);
        let inside = Reader::inside("stalled");
        let cell = RcuCell::<Plain>::new([0; COUNTED / 8]);
        let queue = |from: usize, way: usize| {
            (from..from + MANY).for_each(|index| queue_somehow(ledger.thing(index), way));
        };
        let retire = || (0..MANY).for_each(|n| drop(cell.store([n as u64; COUNTED / 8])));
        // One way after the other: closures that fit, and plain memory; heads have their places inside.
        retire();
        queue(0, 2);
        assert_eq!(statistics().leaked, 0);
        refusing(Refuse::Blocks, || queue(MANY, 2));
        let closures = statistics().leaked;
        refusing(Refuse::Blocks, retire);
        let leaked = statistics().leaked;
        queue(2 * MANY, 4);
        assert_eq!(statistics().leaked, leaked, "heads need no memory");
        // A block may be there, or be given back; then some find a place.
        let some = 1..=MANY as u64;
        assert!(some.contains(&closures) && some.contains(&(leaked - closures)));
        // From here on there is memory again.
        retire();
        inside.end();
        barrier();
        assert_eq!(drain(PATIENCE).left, 0);
        assert_eq!(ledger.count() as u64 + closures, 3 * MANY as u64);
        assert_eq!(
            counting.kept(),
            leaked - closures + 1,
            "and the one in the cell"
        );
        let after = statistics();
        assert_eq!((after.queued, after.leaked), (0, leaked));
    });
}

#[test]
fn memory_for_places_that_is_refused_to_the_quiet_loses_nothing() {
    in_both_modes(|| {
        let counting = start_counting();
        // A queue in steady use asks for no memory, so it misses none.
        let cell = RcuCell::<Plain>::new([0; COUNTED / 8]);
        let store = |n: u64| drop(cell.store([n; COUNTED / 8]));
        (0..20_000).for_each(store);
        let before = statistics().leaked;
        (0..20_000).for_each(|n| {
            store(n);
            if n % 1000 == 0 {
                synchronize();
            }
        });
        drain(PATIENCE);
        assert_eq!((counting.kept(), before, statistics().leaked), (1, 0, 0));
    });
}

#[test]
fn memory_for_a_queue_a_shared_one_serves() {
    in_both_modes(|| {
        const THREADS: usize = 4;
        let ledger = Ledger::new(THREADS * 2 * WAYS);
        // All at a time: queues belong to slots, and the next thread would inherit one.
        let end = Barrier::new(THREADS);
        thread::scope(|scope| {
            for thread in 0..THREADS {
                let end = &end;
                scope.spawn(move || {
                    let first = thread * 2 * WAYS;
                    refusing(Refuse::Queues, || {
                        (first..first + WAYS).for_each(|i| queue_somehow(ledger.thing(i), i));
                    });
                    // It gets one as soon as there is memory.
                    (first + WAYS..first + 2 * WAYS)
                        .for_each(|i| queue_somehow(ledger.thing(i), i));
                    end.wait();
                });
            }
        });
        barrier();
        assert_eq!(drain(PATIENCE).left, 0);
        ledger.assert_all_once();
        let after = statistics();
        assert_eq!((after.leaked, after.queued), (0, 0));
        assert_eq!(after.unregistered_queued, (THREADS * WAYS) as u64);
    });
}

#[test]
fn memory_for_grace_periods_is_an_error_and_the_next_who_waits_drives() {
    in_both_modes(|| {
        read(|_| ());
        let other = Reader::inside("other"); // a thread that is alone needs no memory
        let old = RcuCell::new(1u64).store(2);
        for _ in 0..3 {
            let refused = refusing(Refuse::Everything, try_synchronize);
            assert!(
                matches!(refused, Err(SyncError::OutOfMemory { .. })),
                "{refused:?}"
            );
        }
        assert_eq!(statistics().grace_periods, 0);
        other.end();
        // One waiter that cannot drive, and some that can: they share grace periods, and hand the role over.
        let start = Barrier::new(5);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    start.wait();
                    synchronize();
                });
            }
            start.wait();
            synchronize();
        });
        assert_eq!(old.wait_timeout(PATIENCE).map(|old| *old).ok(), Some(1));
    });
}

#[test]
fn memory_for_the_start_of_the_worker_is_tried_for_again() {
    needs!(HAS.pages, "threads that are started without the allocator");
    in_both_modes(|| {
        let ledger = Ledger::new(20);
        // A queue with places, and no worker.
        without_threads(|| defer(|| ()));
        let before = statistics().worker_errors;
        let nothing = || drop(ledger.thing(0));
        // A closure that fits into a word needs no box.
        refusing(Refuse::Everything, || defer(nothing));
        let refused = statistics();
        assert!(refused.worker_errors > before, "{refused:?}");
        assert_eq!((refused.helper_threads, ledger.count()), (0, 0));
        (1..20).for_each(|index| queue_somehow(ledger.thing(index), index));
        barrier();
        drain(PATIENCE);
        ledger.assert_all_once();
        let after = statistics();
        assert_eq!(
            (after.leaked, after.worker_errors),
            (0, refused.worker_errors)
        );
    });
}

#[test]
fn threads_for_the_worker_barriers_say_so_and_nothing_is_lost() {
    in_both_modes(|| {
        let ledger = Ledger::new(2 * WAYS);
        without_threads(|| {
            (0..WAYS).for_each(|index| queue_somehow(ledger.thing(index), index));
            assert_eq!(try_barrier(), Err(SyncError::NoWorker));
            synchronize(); // needs none
        });
        let refused = statistics();
        assert!(refused.worker_errors > 0);
        assert_eq!((refused.helper_threads, ledger.count()), (0, 0));
        (WAYS..2 * WAYS).for_each(|index| queue_somehow(ledger.thing(index), index));
        barrier();
        drain(PATIENCE);
        ledger.assert_all_once();
        assert_eq!(statistics().leaked, 0);
    });
}

/// Counts how often a task is woken.
struct Woken(AtomicU32);

impl Wake for Woken {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }
}

#[test]
fn memory_or_threads_for_futures_their_tasks_poll_again() {
    needs!(HAS.pages, "threads that are started without the allocator");
    isolated(|| {
        let inside = Reader::inside("inside");
        let woken = std::sync::Arc::new(Woken(AtomicU32::new(0)));
        let waker = Waker::from(woken.clone());
        let mut context = Context::from_waker(&waker);
        let mut future = pin!(grace_period());
        let mut poll_once = || {
            let before = woken.0.load(Ordering::Acquire);
            assert_eq!(future.as_mut().poll(&mut context), Poll::Pending);
            assert!(woken.0.load(Ordering::Acquire) > before, "woken each time");
        };
        synchronize_in_vain();
        refusing(Refuse::Everything, &mut poll_once);
        without_threads(&mut poll_once);
        inside.end();
        until("it is ready", || {
            future.as_mut().poll(&mut context) == Poll::Ready(())
        });
    });
}

/// All that the engine needs for the readers there are.
fn synchronize_in_vain() {
    let result = quiescent::synchronize_timeout(crate::common::SHORT);
    assert!(matches!(result, Err(SyncError::TimedOut { .. })));
}

/// What threads without slots queue goes, and their barriers and drains are as good as any other's.
fn deferral_of_unregistered_threads() {
    const THREADS: usize = 3;
    let ledger = Ledger::new(THREADS * 2 * WAYS);
    thread::scope(|scope| {
        for thread in 0..THREADS {
            scope.spawn(move || {
                let first = thread * 2 * WAYS;
                (first..first + WAYS).for_each(|i| queue_somehow(ledger.thing(i), i));
                {
                    let _guard = read_lock();
                    (first + WAYS..first + 2 * WAYS)
                        .for_each(|i| queue_somehow(ledger.thing(i), i));
                }
                barrier();
                synchronize();
            });
        }
    });
    assert_eq!(drain(PATIENCE).left, 0);
    ledger.assert_all_once();
    let after = statistics();
    assert!(after.unregistered_sections >= THREADS as u64, "{after:?}");
    assert_eq!(after.unregistered_queued, (THREADS * 2 * WAYS) as u64);
    assert_eq!((after.leaked, after.queued), (0, 0));
}

#[test]
fn slots_threads_without_one_defer_as_all_others() {
    in_both_modes(|| {
        Options::new().max_threads(1).apply().expect("one leaf");
        let idle: Vec<_> = (0..62).map(|_| Reader::idle("has a slot")).collect();
        deferral_of_unregistered_threads();
        idle.into_iter().for_each(Reader::end);
    });
}

/// Sets the soft limit of what a process may have; returns the one before.
fn limit(resource: libc::__rlimit_resource_t, most: libc::rlim_t) -> libc::rlim_t {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `limit` is writable.
    assert_eq!(unsafe { libc::getrlimit(resource, &mut limit) }, 0);
    let before = limit.rlim_cur;
    limit.rlim_cur = most.min(limit.rlim_max);
    // SAFETY: `limit` is readable.
    assert_eq!(unsafe { libc::setrlimit(resource, &limit) }, 0);
    before
}

/// With every slot of the first leaf taken, the kernel gives no memory for another one while a thread reads
/// for the first time, and queues.
fn limited(resource: libc::__rlimit_resource_t) {
    let idle: Vec<_> = (0..62).map(|_| Reader::idle("has a slot")).collect();
    synchronize(); // the engine's records, and with them all that this thread needs
    let ledger = Ledger::new(2);
    let nothing = || drop(ledger.thing(0));
    let before = limit(resource, 4096); // (of data, nothing at all would mean no limit)
    drop(read_lock());
    defer(nothing);
    limit(resource, before);
    let refused = statistics();
    assert_eq!(refused.registered, 62, "no slot was to be had");
    assert!(refused.unregistered_sections > 0);
    assert_eq!((refused.unregistered_queued, refused.leaked), (1, 0));
    queue_somehow(ledger.thing(1), 2);
    barrier();
    ledger.assert_all_once();
    read(|_| ());
    assert_eq!(statistics().registered, 63, "memory is there again");
    idle.into_iter().for_each(Reader::end);
}

#[test]
fn rlimit_as_readers_and_callbacks_become_unregistered() {
    needs!(pages);
    in_both_modes(|| {
        limited(libc::RLIMIT_AS);
    });
}

#[test]
fn rlimit_data_readers_and_callbacks_become_unregistered() {
    needs!(pages);
    in_both_modes(|| {
        limited(libc::RLIMIT_DATA);
    });
}

#[test]
fn rlimit_nofile_callbacks_wait_until_there_are_descriptors() {
    needs!(HAS.silent_timer, "a timer with a descriptor");
    in_both_modes(|| {
        let ledger = Ledger::new(2 * WAYS);
        let before = limit(libc::RLIMIT_NOFILE, 0);
        (0..WAYS).for_each(|index| queue_somehow(ledger.thing(index), index));
        assert_eq!(try_barrier(), Err(SyncError::NoWorker));
        let refused = statistics();
        assert!(refused.worker_errors > 0);
        assert_eq!((refused.helper_threads, ledger.count()), (0, 0));
        // `drain` needs none.
        assert_eq!((drain(PATIENCE).left, ledger.count()), (0, WAYS));
        limit(libc::RLIMIT_NOFILE, before);
        (WAYS..2 * WAYS).for_each(|index| queue_somehow(ledger.thing(index), index));
        barrier();
        drain(PATIENCE);
        ledger.assert_all_once();
        assert_eq!(statistics().leaked, 0);
    });
}
