//! Waiting for grace periods: the public calls.

use std::time::Duration;

use super::backend::{Backend as _, OfProcess};
use super::cookie::Cookie;
use crate::api::backend::How;
use crate::api::error::SyncError;

/// Waits for a grace period: until every read-side critical section that was open when this was called
/// has ended.
///
/// What was unpublished before the call can be freed after it. Many callers share one grace period.
///
/// # Ordering
/// Everything before the call happens before everything in sections that open after the grace period
/// has started; everything in older sections happens before the return.
///
/// # Panics
/// Inside a section of the same thread (it would wait for itself), if the sandbox has taken
/// `membarrier(2)` away since start-up, and if there is no memory for the records of newly registered
/// threads; [`try_synchronize`] returns these instead.
///
/// # Cost
/// A sole registered thread: no system call. Otherwise one `membarrier(2)` a grace period, and a scan
/// linear in occupied leaves of 64 threads.
///
/// ```
/// let cell = quiescent::RcuCell::new(1);
/// let old = cell.store(2);
/// quiescent::synchronize();
/// // Nobody reads `old` any more.
/// # let _ = old.wait();
/// ```
#[doc(alias = "synchronize_rcu")]
#[track_caller]
pub fn synchronize() {
    if let Err(error) = try_synchronize() {
        panic!("synchronize: {error}");
    }
}

/// As [`synchronize`], returning the reason why it cannot.
///
/// # Errors
/// [`SyncError::InsideSection`], [`SyncError::FenceRefused`], [`SyncError::OutOfMemory`]. On an error
/// no grace period has been waited for: nothing may be freed.
pub fn try_synchronize() -> Result<(), SyncError> {
    OfProcess.wait(How::default())
}

/// As [`try_synchronize`], giving up after `timeout`.
///
/// # Errors
/// Also [`SyncError::TimedOut`], with the readers that were in the way. A caller that gives up leaves
/// nothing behind that needs care: the next one continues its grace period.
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
    OfProcess.wait(How::within(timeout))
}

/// As [`synchronize`], in a hurry: spins longer before it sleeps.
///
/// Every grace period here is already expedited in the kernel's sense (the fence is the interrupt), so
/// the difference is policy only.
///
/// # Panics
/// As [`synchronize`].
#[doc(alias = "synchronize_rcu_expedited")]
#[track_caller]
pub fn synchronize_expedited() {
    if let Err(error) = OfProcess.wait(How::EXPEDITED) {
        panic!("synchronize_expedited: {error}");
    }
}

/// Asks for a grace period without waiting, and returns the cookie it will satisfy.
///
/// No system call, nobody is woken. Whoever waits or polls next drives it.
///
/// ```
/// let cookie = quiescent::start_grace_period();
/// while !cookie.is_done() {
///     std::thread::yield_now(); // something useful
/// }
/// ```
#[doc(alias = "start_poll_synchronize_rcu")]
pub fn start_grace_period() -> Cookie {
    Cookie::start(OfProcess)
}
