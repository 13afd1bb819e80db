//! The calls that work on the process's domain: waiting, barriers, callbacks, counters.

use std::fmt::Display;
use std::time::Duration;

use quiescent_engine::credit::Urgency;

use super::cookie::Cookie;
use super::future::BarrierFuture;
#[cfg(not(quiescent_model))]
use super::future::GracePeriod;
use super::handle::Global;
use super::queueing;
use crate::global::{env, home};
use quiescent_core::domain::driver::How;
use quiescent_core::domain::error::SyncError;
use quiescent_core::domain::life::Domain;
use quiescent_core::domain::points::Wait;
use quiescent_core::domain::statistics::Statistics;
use quiescent_core::domain::sweep::Until;
use quiescent_core::reader::holdout::Holdout;

/// What a call returns that panics where another one returns an error.
#[track_caller]
pub(crate) fn must<T, E: Display>(result: Result<T, E>, call: &str) -> T {
    match result {
        Ok(value) => value,
        Err(error) => panic!("{call}: {error}"),
    }
}

/// Waits for a grace period: until every read-side critical section that was open when this was called
/// has ended.
///
/// What was unlinked before the call can be freed after it. Several callers share one grace period.
///
/// # Ordering
/// Everything before the call happens before everything in sections that open after the grace period has
/// started; everything in older sections happens before the return.
///
/// # Panics
/// Inside a section of the same thread (it would wait for itself) or a callback; if the system has begun to
/// refuse `membarrier(2)` since start-up; if there is no memory for the records of newly registered threads.
/// [`try_synchronize`] returns these as errors.
///
/// # Cost
/// With one registered thread: no system call. Otherwise one `membarrier(2)` for each grace period, and a
/// scan that is linear in the groups of 64 threads that are in use.
///
/// ```
/// let cell = quiescent::RcuCell::new(1);
/// let old = cell.store(2);
/// quiescent::synchronize();
/// // No reader uses `old` any more.
/// # let _ = old.wait();
/// ```
#[doc(alias = "synchronize_rcu")]
#[track_caller]
pub fn synchronize() {
    must(try_synchronize(), "synchronize");
}

/// As [`synchronize`], but returns an error instead of panicking.
///
/// # Errors
/// [`SyncError::InsideSection`], [`SyncError::InsideCallback`], [`SyncError::FenceRefused`],
/// [`SyncError::OutOfMemory`]. On an error no grace period has passed: nothing may be freed.
pub fn try_synchronize() -> Result<(), SyncError> {
    home().synchronize(How::default())
}

/// As [`try_synchronize`], waiting for at most `timeout`.
///
/// # Errors
/// Also [`SyncError::TimedOut`], with the readers that blocked the grace period. A caller whose time is over
/// has nothing to clean up: the next caller continues its grace period.
///
/// ```
/// use std::time::Duration;
/// use quiescent::{SyncError, read_lock, synchronize_timeout};
///
/// let (sender, receiver) = std::sync::mpsc::channel::<()>();
/// let reader = std::thread::spawn(move || {
///     let _guard = read_lock();
///     receiver.recv().ok();
/// });
/// # while quiescent::statistics().registered == 0 { std::thread::yield_now() }
/// # std::thread::sleep(Duration::from_millis(10));
/// let result = synchronize_timeout(Duration::from_millis(1));
/// assert!(matches!(result, Err(SyncError::TimedOut { .. })));
/// drop(sender);
/// reader.join().unwrap();
/// assert_eq!(synchronize_timeout(Duration::from_secs(60)), Ok(()));
/// ```
pub fn synchronize_timeout(timeout: Duration) -> Result<(), SyncError> {
    home().synchronize(How::within(timeout))
}

/// As [`synchronize`], but spins longer before it sleeps.
///
/// Every grace period of this library is already expedited in the kernel's sense (the fence acts as the
/// interrupt), so only the spinning differs.
///
/// # Panics
/// As [`synchronize`].
#[doc(alias = "synchronize_rcu_expedited")]
#[track_caller]
pub fn synchronize_expedited() {
    must(home().synchronize(How::EXPEDITED), "synchronize_expedited");
}

/// Requests a grace period without waiting, and returns a cookie for it.
///
/// Makes no system call and wakes no thread. The next thread that waits or polls drives the grace period.
///
/// ```
/// let cookie = quiescent::start_grace_period();
/// while !cookie.is_done() {
///     std::thread::yield_now(); // something useful
/// }
/// ```
#[doc(alias = "start_poll_synchronize_rcu")]
pub fn start_grace_period() -> Cookie {
    Cookie::start(&env().home)
}

/// A future that resolves once every section that is open now has ended.
///
/// The grace period counts from this call, not from the first poll. The future is `Send`; it contains no
/// guard, so it may be held across an `await` (a [`Guard`](crate::Guard) may not: it is not `Send`).
///
/// If the worker cannot be started, or there is no memory to record the task, the task is woken at once and
/// polls again until that succeeds. Dropping the future early has no side effects.
///
/// # Panics
/// As [`GracePeriod`]; [`try_grace_period`] does not.
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
/// # block_on(async {
/// let cell = quiescent::RcuCell::new(1);
/// let old = cell.store(2);
/// quiescent::grace_period().await;
/// // No reader uses `old` any more.
/// # drop(old);
/// # });
/// ```
#[cfg(not(quiescent_model))]
pub fn grace_period() -> GracePeriod {
    start_grace_period().wait_async()
}

/// As [`grace_period`], but returns an error instead of panicking.
#[cfg(not(quiescent_model))]
pub fn try_grace_period()
-> impl Future<Output = Result<(), SyncError>> + Send + Sync + Unpin + 'static {
    start_grace_period().as_wait()
}

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
    must(try_barrier(), "barrier");
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

/// Runs `f` after a grace period, on the worker (or in [`drain`]). Never waits, never fails.
///
/// Prompt: a grace period is requested at most [`PROMPT`](crate::tuning::PROMPT) later, or when enough
/// callbacks are queued, so that a trickle of calls wakes the worker at most 20 times a second. A closure
/// of up to one word is stored in the queue, a larger one in a box. Near the
/// [budget](crate::tuning::set_budget()) the call may yield the processor once to the threads that run
/// callbacks; beyond it, the call still queues, and the program gets a report
/// ([`Report::OverBudget`](crate::report::Report)). A closure counts its box and 16 bytes of the queue;
/// what it captures by a pointer is not counted. Callbacks run in no particular order. A panic in `f` is
/// contained and counted ([`Statistics::callback_panics`](crate::stats::Statistics)). `f` must not
/// wait for a grace period or a barrier, nor end its thread. Not for signal handlers.
///
/// ```
/// use std::sync::atomic::{AtomicBool, Ordering};
///
/// static DONE: AtomicBool = AtomicBool::new(false);
/// quiescent::defer(|| DONE.store(true, Ordering::Release));
/// quiescent::barrier();
/// assert!(DONE.load(Ordering::Acquire));
/// ```
#[doc(alias = "call_rcu")]
pub fn defer<F: FnOnce() + Send + 'static>(f: F) {
    queueing::defer(&Global, f, Urgency::Prompt);
}

/// As [`defer`], but wakes the worker now. What this thread has queued before is included.
#[doc(alias = "call_rcu_hurry")]
pub fn defer_hurry<F: FnOnce() + Send + 'static>(f: F) {
    queueing::defer(&Global, f, Urgency::Hurry);
}

/// As [`defer`], but lazy as `retire`: the grace period is requested at most about
/// [`FLUSH`](crate::tuning::FLUSH) later, and the call itself causes no wake-up.
///
/// For code that only releases something: memory of another allocator, a descriptor, a count. **Do not use it
/// for a callback that another thread waits for**: the wait may take ten seconds.
///
/// ```
/// let file = std::fs::File::open("/proc/self/comm").unwrap();
/// quiescent::defer_lazy(move || drop(file)); // closed some time after all readers are done
/// ```
pub fn defer_lazy<F: FnOnce() + Send + 'static>(f: F) {
    queueing::defer(&Global, f, Urgency::Lazy);
}

/// The result of [`drain`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Drained {
    /// Callbacks run and objects freed by this call.
    pub ran: u64,
    /// Callbacks and objects that are still queued, or that other threads are running.
    pub left: u64,
}

impl Drained {
    pub(crate) fn of(ran: u64, domain: &'static Domain) -> Drained {
        let left = domain.held().0;
        Drained { ran, left }
    }
}

/// Frees and runs, in this thread, everything that any thread has queued, for at most `limit` (plus the time
/// of the callback that is running then). The library stays usable afterwards.
///
/// Waits for grace periods, except inside a section or a callback: there it handles only what is ready.
///
/// ```
/// quiescent::defer(|| println!("goodbye"));
/// let drained = quiescent::drain(std::time::Duration::from_secs(1));
/// assert_eq!(drained.left, 0);
/// ```
pub fn drain(limit: Duration) -> Drained {
    let home = &env().home;
    Drained::of(home.state().drain(Until::after(limit)), home)
}

/// Returns counters since the start of the process, and the present state. Takes the domain's lock briefly.
///
/// ```
/// let before = quiescent::statistics();
/// quiescent::synchronize();
/// assert!(quiescent::statistics().grace_periods > before.grace_periods);
/// ```
pub fn statistics() -> Statistics {
    Statistics::of(&env().home)
}

/// The readers that the grace period in flight waits for, at most 64 of them; empty if none is in flight, or
/// if no scan has run yet. Reads their names from `/proc`.
pub fn holdouts() -> Vec<Holdout> {
    home().holdouts()
}
