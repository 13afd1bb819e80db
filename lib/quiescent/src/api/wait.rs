//! Waiting for grace periods: the public calls.

use std::time::Duration;

use super::cookie::Cookie;
use crate::global::{env, home};
use quiescent_core::domain::driver::How;
use quiescent_core::domain::error::SyncError;

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
    if let Err(error) = try_synchronize() {
        panic!("synchronize: {error}");
    }
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
    if let Err(error) = home().synchronize(How::EXPEDITED) {
        panic!("synchronize_expedited: {error}");
    }
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
