//! A grace period as a future: many tasks, which the worker wakes; no thread starts before a task must wait.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use crate::common::{Reader, in_both_modes, kernel_threads, until};
use quiescent::{GracePeriod, RcuCell, grace_period, read, statistics};

/// Unparks a thread, and counts.
struct Unpark {
    thread: Thread,
    wakes: AtomicU32,
}

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.wakes.fetch_add(1, Ordering::Relaxed);
        self.thread.unpark();
    }
}

/// Runs a future to its end on this thread, sleeping in between.
fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let unpark = Arc::new(Unpark {
        thread: thread::current(),
        wakes: AtomicU32::new(0),
    });
    let waker = Waker::from(unpark.clone());
    let mut seen = 0;
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        // Only a wake-up gets us on, not a spurious end of `park`.
        while unpark.wakes.load(Ordering::Relaxed) == seen {
            thread::park();
        }
        seen = unpark.wakes.load(Ordering::Relaxed);
    }
}

/// Polls once, with a waker that does nothing.
fn poll_once(future: &mut GracePeriod) -> Poll<()> {
    Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

/// There is the worker, if it was needed, and the thread that stands by while it runs code of the program.
fn assert_only_the_worker_is_left() {
    let now = statistics();
    assert!(now.helper_threads <= 2, "{now:?}");
    assert_eq!(now.callbacks_stuck, 0);
}

#[test]
fn without_readers_the_first_poll_is_ready() {
    in_both_modes(|| {
        let idle = Reader::idle("idle");
        let threads = kernel_threads();
        for _ in 0..100 {
            assert!(poll_once(&mut grace_period()).is_ready());
            // The kernel may still count threads of before.
            assert!(statistics().helper_threads == 0 && kernel_threads() <= threads);
        }
        block_on(async {
            let cell = RcuCell::new(1);
            let old = cell.store(2);
            grace_period().await;
            assert_eq!(*old.wait(), 1);
        });
        idle.end();
    });
}

#[test]
fn tasks_wait_for_readers_and_share_the_worker() {
    in_both_modes(|| {
        for _ in 0..10 {
            let inside = Reader::inside("inside");
            let mut futures: Vec<GracePeriod> = (0..200).map(|_| grace_period()).collect();
            assert!(
                futures
                    .iter_mut()
                    .all(|future| poll_once(future).is_pending())
            );
            until("the worker starts", || statistics().helper_threads >= 1);
            assert!(
                statistics().helper_threads <= 2,
                "not one for each of 200 tasks"
            );
            let executors: Vec<_> = (0..4)
                .map(|part| futures.split_off(futures.len() - 50 * usize::from(part < 4)))
                .map(|part| thread::spawn(|| part.into_iter().for_each(block_on)))
                .collect();
            assert!(executors.iter().all(|executor| !executor.is_finished()));
            inside.end();
            executors
                .into_iter()
                .for_each(|executor| executor.join().expect("no panic"));
            assert_only_the_worker_is_left();
        }
        assert_eq!(statistics().stalls, 0);
    });
}

#[test]
fn dropped_futures_leave_nothing_behind() {
    in_both_modes(|| {
        drop(grace_period());
        let inside = Reader::inside("inside");
        for _ in 0..100 {
            let mut future = grace_period();
            assert!(poll_once(&mut future).is_pending());
            drop(future);
        }
        inside.end();
        assert_only_the_worker_is_left();
        quiescent::synchronize();
        block_on(grace_period());
        assert!(!statistics().busy || statistics().holdouts == 0);
    });
}

#[test]
fn a_future_counts_from_its_making_and_may_move() {
    in_both_modes(|| {
        let mut early = grace_period();
        quiescent::synchronize();
        let inside = Reader::inside("inside");
        assert!(
            poll_once(&mut early).is_ready(),
            "it was made before the section opened"
        );
        let mut late = grace_period();
        assert!(poll_once(&mut late).is_pending());
        // To another thread, with another waker; clones are futures of the same grace period.
        let copy = late.clone();
        let executors = [late, copy].map(|future| thread::spawn(|| block_on(future)));
        inside.end();
        executors
            .into_iter()
            .for_each(|executor| executor.join().expect("no panic"));
        assert_only_the_worker_is_left();
    });
}

#[test]
fn a_future_polled_inside_a_section_refuses() {
    in_both_modes(|| {
        let mut future = read(|_| {
            let mut future = grace_period();
            let poll = AssertUnwindSafe(|| poll_once(&mut future).is_pending());
            let refused = catch_unwind(poll).expect_err("it would wait for itself");
            let text = refused
                .downcast_ref::<String>()
                .expect("a formatted message");
            assert!(text.contains("drop the guard first"), "{text}");
            future
        });
        until("it is ready", || poll_once(&mut future).is_ready());
        assert_eq!(statistics().helper_threads, 0, "no task had to wait");
    });
}

#[test]
fn many_tasks_beside_readers_in_loops() {
    in_both_modes(|| {
        let stop = std::sync::atomic::AtomicBool::new(false);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        read(|_| thread::yield_now());
                    }
                });
            }
            let tasks: Vec<_> = (0..4)
                .map(|_| scope.spawn(|| (0..200).for_each(|_| block_on(grace_period()))))
                .collect();
            let ends: Vec<_> = tasks.into_iter().map(|task| task.join()).collect();
            stop.store(true, Ordering::Relaxed);
            assert!(ends.iter().all(Result::is_ok));
        });
        assert_only_the_worker_is_left();
        assert_eq!(statistics().stalls, 0);
    });
}
