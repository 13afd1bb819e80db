//! A worker that cannot be started, or that another thread is starting. Queued items are kept, a barrier
//! returns the reason why it does not wait, and the next call that queues tries again.
//!
//! The start is delayed where a test wants it: `timerfd_create` waits at a gate before it makes the timer.

use std::sync::Barrier;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::thread;

use crate::common::deferral::{Gate, Ledger, library_threads, queue_somehow};
use crate::common::{Isolated, PATIENCE, SHORT, in_both_modes, on_thread, sandbox, until};
use quiescent::{
    RcuCell, SyncError, barrier, defer, drain, read, statistics, synchronize, try_barrier,
};
use quiescent_core::{needs, os::HAS};

/// Where the start of the worker waits, if anywhere.
static START: AtomicPtr<Gate> = AtomicPtr::new(std::ptr::null_mut());
/// So many starts fail for want of a descriptor.
static REFUSED: AtomicU32 = AtomicU32::new(0);

/// The library's first descriptor is about to be made. Is it refused?
pub fn refuses_timer() -> bool {
    // SAFETY: null or a gate that is kept for ever.
    if let Some(gate) = unsafe { START.load(Ordering::Acquire).as_ref() } {
        gate.pass();
    }
    let less = |left: u32| left.checked_sub(1);
    let refused = REFUSED.fetch_update(Ordering::AcqRel, Ordering::Acquire, less);
    refused.is_ok()
}

/// A gate that the start of the worker waits at from now on.
fn gate_at_start() -> &'static Gate {
    let gate = Gate::new();
    START.store(std::ptr::from_ref(gate).cast_mut(), Ordering::Release);
    gate
}

/// Allows no more descriptors than there are; returns the limit before.
fn limit_descriptors(most: libc::rlim_t) -> libc::rlim_t {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `limit` is writable.
    let failed = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) };
    assert_eq!(failed, 0);
    let before = limit.rlim_cur;
    limit.rlim_cur = most.min(limit.rlim_max);
    // SAFETY: `limit` is readable.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) }, 0);
    before
}

/// No descriptor, and hence no worker, while `f` runs.
fn without_descriptors(f: &dyn Fn()) {
    let before = limit_descriptors(0);
    f();
    limit_descriptors(before);
}

/// No stack for another thread, and hence no worker, while `f` runs.
fn without_threads(f: &dyn Fn()) {
    let before = sandbox::limit_address_space(0);
    f();
    sandbox::limit_address_space(before);
}

/// `without` keeps the worker from starting: some things are queued meanwhile, and some later.
fn starts_later(without: fn(&dyn Fn())) {
    let ledger = Ledger::new(40);
    // This thread's queue is there before memory is short.
    drop(RcuCell::new(1u64).store(2).wait());
    read(|_| ());
    let before = statistics();
    assert_eq!((before.helper_threads, before.worker_errors), (0, 0));
    without(&|| {
        (0..10).for_each(|index| queue_somehow(ledger.thing(index), 2)); // calls
        (10..20).for_each(|index| queue_somehow(ledger.thing(index), 8)); // lazy
        (20..30).for_each(|index| queue_somehow(ledger.thing(index), 3)); // in a hurry
    });
    let refused = statistics();
    assert!(refused.worker_errors > 0, "it has tried");
    assert_eq!((refused.helper_threads, refused.queued), (0, 30));
    assert_eq!((ledger.count(), library_threads().len()), (0, 0));
    // The next call that queues starts it, even if that callback is not hurried.
    (30..40).for_each(|index| queue_somehow(ledger.thing(index), 2));
    until("all of it goes", || ledger.count() == 40);
    ledger.assert_all_once();
    barrier();
    assert_eq!(statistics().worker_errors, refused.worker_errors);
}

#[test]
fn without_a_descriptor_at_first() {
    needs!(HAS.silent_timer, "a timer with a descriptor");
    in_both_modes(|| {
        starts_later(without_descriptors);
    });
}

#[test]
fn without_a_thread_at_first() {
    in_both_modes(|| {
        starts_later(without_threads);
    });
}

#[test]
fn one_refusal_is_no_more_than_one() {
    needs!(HAS.silent_timer, "a timer with a descriptor");
    in_both_modes(|| {
        // A thread that is asked for nothing else: its next call, however long after, is enough.
        let ledger = Ledger::new(2);
        REFUSED.store(1, Ordering::Release);
        queue_somehow(ledger.thing(0), 2);
        assert_eq!(statistics().worker_errors, 1);
        assert_eq!(ledger.count(), 0);
        queue_somehow(ledger.thing(1), 2);
        until("both go", || ledger.count() == 2);
        assert_eq!(statistics().worker_errors, 1);
        ledger.assert_all_once();
    });
}

#[test]
fn a_thread_that_ends_meanwhile_leaves_it_to_others() {
    needs!(HAS.silent_timer, "a timer with a descriptor");
    in_both_modes(|| {
        let ledger = Ledger::new(3);
        REFUSED.store(u32::MAX, Ordering::Release);
        on_thread("departed", move || queue_somehow(ledger.thing(0), 2));
        on_thread("departed", move || queue_somehow(ledger.thing(1), 8));
        assert!(statistics().worker_errors >= 2);
        assert_eq!((ledger.count(), statistics().helper_threads), (0, 0));
        REFUSED.store(0, Ordering::Release);
        queue_somehow(ledger.thing(2), 2);
        until("all of it goes", || ledger.count() == 3);
        ledger.assert_all_once();
    });
}

#[test]
fn a_barrier_says_so_and_drain_does_without() {
    needs!(HAS.silent_timer, "a timer with a descriptor");
    in_both_modes(|| {
        let ledger = Ledger::new(40);
        REFUSED.store(u32::MAX, Ordering::Release);
        assert_eq!(try_barrier(), Ok(()), "nothing is queued");
        let before = statistics().barriers;
        (0..10).for_each(|index| queue_somehow(ledger.thing(index), index));
        for _ in 0..3 {
            assert_eq!(try_barrier(), Err(SyncError::NoWorker));
        }
        let text = crate::common::panic_text(barrier);
        assert!(
            text.starts_with("barrier: the worker cannot be started"),
            "{text}"
        );
        // Of several at once, each gets the error, one after the other.
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| assert_eq!(try_barrier(), Err(SyncError::NoWorker)));
            }
        });
        assert_eq!(statistics().barriers, before);
        synchronize(); // needs no worker
        assert_eq!(ledger.count(), 0);
        (10..20).for_each(|index| queue_somehow(ledger.thing(index), index));
        assert_eq!(drain(PATIENCE).left, 0);
        assert_eq!(ledger.count(), 20);
        // What a barrier has taken, and could not wait for, goes with the rest.
        (20..30).for_each(|index| queue_somehow(ledger.thing(index), index));
        assert_eq!(try_barrier(), Err(SyncError::NoWorker));
        assert_eq!((ledger.count(), statistics().helper_threads), (20, 0));
        REFUSED.store(0, Ordering::Release);
        (30..40).for_each(|index| queue_somehow(ledger.thing(index), 2));
        until("all of it goes", || ledger.count() == 40);
        assert_eq!(try_barrier(), Ok(()));
        ledger.assert_all_once();
    });
}

#[test]
fn a_barrier_does_not_wait_for_a_start_that_fails() {
    needs!(HAS.silent_timer, "a timer with a descriptor");
    in_both_modes(|| {
        let ledger = Ledger::new(3);
        let gate = gate_at_start();
        REFUSED.store(u32::MAX, Ordering::Release);
        thread::scope(|scope| {
            scope.spawn(|| queue_somehow(ledger.thing(0), 2));
            gate.until_reached(1); // the other thread is starting the worker
            queue_somehow(ledger.thing(1), 2);
            let barriers = [(); 2].map(|()| scope.spawn(try_barrier));
            thread::sleep(SHORT); // so that they are there when it fails, most times
            gate.open();
            for barrier in barriers {
                let result = barrier.join().expect("no panic");
                assert_eq!(result, Err(SyncError::NoWorker));
            }
        });
        assert_eq!(statistics().helper_threads, 0);
        REFUSED.store(0, Ordering::Release);
        queue_somehow(ledger.thing(2), 2);
        until("all of it goes", || ledger.count() == 3);
        ledger.assert_all_once();
    });
}

#[test]
fn a_timer_that_is_set_during_the_start_is_not_lost() {
    needs!(HAS.silent_timer, "a timer with a descriptor");
    in_both_modes(|| {
        let ledger = Ledger::new(200);
        let gate = gate_at_start();
        let lazy = thread::spawn(move || {
            queue_somehow(ledger.thing(0), 8); // and with it a timer of ten seconds
            until("all of it goes", || ledger.count() == 200);
        });
        gate.until_reached(1);
        // These come during the start: the first of them sets a timer that is not there yet.
        let during = thread::spawn(move || {
            (1..100).for_each(|index| queue_somehow(ledger.thing(index), 2));
        });
        thread::sleep(SHORT);
        gate.open();
        during.join().expect("no panic");
        (100..200).for_each(|index| queue_somehow(ledger.thing(index), 2));
        until("what was called goes", || ledger.count() >= 199);
        barrier();
        lazy.join().expect("no panic");
        ledger.assert_all_once();
        assert_eq!(statistics().worker_errors, 0);
    });
}

/// Threads that queue their first things at the same time, some of them in a hurry.
fn all_at_once(hurry: bool) {
    const THREADS: usize = 16;
    let (called, others) = (Ledger::new(THREADS), Ledger::new(THREADS));
    let start = Barrier::new(THREADS);
    let run = |index: usize| {
        start.wait();
        match index % 4 {
            0 if hurry => assert_eq!(try_barrier(), Ok(())),
            1 if hurry => queue_somehow(others.thing(index), 3),
            2 => on_thread("departed", move || queue_somehow(others.thing(index), 2)),
            _ => queue_somehow(others.thing(index), 8),
        }
        defer(move || drop(called.thing(index)));
        until("what was called goes", || called.count() == THREADS);
    };
    thread::scope(|scope| {
        for index in 0..THREADS {
            let run = &run;
            scope.spawn(move || run(index));
        }
    });
    barrier();
    called.assert_all_once();
    let barriers = if hurry { THREADS / 4 } else { 0 };
    assert_eq!(others.count(), THREADS - barriers);
    let now = statistics();
    assert_eq!((now.worker_errors, now.queued), (0, 0));
    assert!(library_threads().len() <= 2);
}

#[test]
fn threads_that_all_start_at_once() {
    for round in 0..12 {
        let isolated = match round % 3 {
            2 => Isolated::new().fenced(),
            _ => Isolated::new(),
        };
        isolated
            .tag(&round.to_string())
            .run(|| all_at_once(round % 2 == 1));
    }
}
