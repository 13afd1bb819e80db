//! Barriers: waiting until everything that is queued has been freed or run.

use super::future::BarrierFuture;
use crate::global::env;
use quiescent_core::domain::error::SyncError;
use quiescent_core::domain::points::Wait;

/// Waits until everything that was queued before this call, by any thread, has been freed or run.
///
/// Of memory without a destructor one thing is left open: a thread that is preempted inside a call that
/// retires, while it frees one or two objects itself, frees them when it continues, which may be later.
///
/// The worker runs the callbacks, so the caller must not hold a lock that a callback takes.
///
/// # Panics
/// Inside a section or a callback; if `membarrier(2)` is refused after start-up; if the worker is needed and
/// cannot be started.
#[doc(alias = "rcu_barrier")]
#[track_caller]
pub fn barrier() {
    if let Err(error) = try_barrier() {
        panic!("barrier: {error}");
    }
}

/// As [`barrier`], but returns an error instead of panicking.
///
/// # Errors
/// [`SyncError::InsideSection`] or [`SyncError::InsideCallback`]; [`SyncError::FenceRefused`];
/// [`SyncError::NoWorker`] if the worker cannot be started.
pub fn try_barrier() -> Result<(), SyncError> {
    env().home.barrier()
}

/// A future that resolves once everything that was queued before this call, by any thread, has been freed or
/// run.
///
/// As [`barrier`], for tasks. It counts from this call, not from the first poll. The future is `Send`, needs
/// no runtime, and holds no lock. Futures made at about the same time, and threads that wait, share one
/// barrier.
///
/// Polling starts the barrier if none is under way, and never waits for readers or callbacks; the worker runs
/// what is queued, and wakes the task. The barrier may also wait for what is queued between this call and the
/// first poll. Dropping the future early has no side effects. In a callback that it has to wait for, the
/// future stays pending; do not block on it there.
///
/// If the worker cannot be started, or there is no memory to record the task, the task is woken at once and
/// polls again until that succeeds.
///
/// # Panics
/// As [`BarrierFuture`]; [`try_barrier_async`] does not.
///
/// ```
/// # fn block_on<F: std::future::Future>(future: F) -> F::Output {
/// #     use std::task::{Context, Poll, Waker};
/// #     let mut future = std::pin::pin!(future);
/// #     loop {
/// #         match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
/// #             Poll::Ready(output) => return output,
/// #             Poll::Pending => std::thread::yield_now(),
/// #         }
/// #     }
/// # }
/// use std::sync::atomic::{AtomicBool, Ordering};
///
/// static DONE: AtomicBool = AtomicBool::new(false);
/// # block_on(async {
/// quiescent::defer(|| DONE.store(true, Ordering::Release));
/// quiescent::barrier_async().await;
/// assert!(DONE.load(Ordering::Acquire));
/// # });
/// ```
pub fn barrier_async() -> BarrierFuture {
    BarrierFuture::of(Wait::for_barrier(&env().home))
}

/// As [`barrier_async`], but returns an error instead of panicking.
pub fn try_barrier_async()
-> impl Future<Output = Result<(), SyncError>> + Send + Sync + Unpin + 'static {
    Wait::for_barrier(&env().home)
}
