//! Waiting for grace periods: the public calls.

use std::time::Duration;

use quiescent_engine::FullCookie;

use crate::error::SyncError;
use crate::inner::gp::driver::Drives as _;
use crate::inner::gp::driver::How;
use crate::inner::gp::waiting::Waits as _;
use crate::inner::prim;

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
    prim::domain().synchronize(How::default())
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
    prim::domain().synchronize(How::within(timeout))
}

/// As [`synchronize`], in a hurry: spins longer before it sleeps.
///
/// Every grace period here is already expedited in the kernel's sense (the fence is the interrupt), so
/// the difference is policy only.
///
/// # Panics
/// As [`synchronize`].
pub fn synchronize_expedited() {
    if let Err(error) = prim::domain().synchronize(How::EXPEDITED) {
        panic!("synchronize_expedited: {error}");
    }
}

/// A point in the sequence of grace periods: "a full grace period from now".
///
/// Small and `Copy`: keep it beside an object and ask later. A program that keeps cookies for longer
/// than 2⁶² grace periods will be told "not yet" again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cookie(pub(crate) FullCookie);

impl Cookie {
    /// A cookie for which [`poll`] says yes at once.
    pub const COMPLETED: Cookie = Cookie(FullCookie::COMPLETED);
}

/// Asks for a grace period without waiting, and returns the cookie it will satisfy.
///
/// No system call, nobody is woken. Whoever waits or polls next drives it.
///
/// ```
/// use quiescent::{poll, start_poll};
///
/// let cookie = start_poll();
/// while !poll(cookie) {
///     std::thread::yield_now(); // something useful
/// }
/// ```
pub fn start_poll() -> Cookie {
    Cookie(prim::domain().start_poll())
}

/// Has a full grace period passed since the cookie was taken? Never waits.
///
/// If it has not, and nobody drives the grace period, this call helps it along as far as that goes
/// without waiting (about one `membarrier(2)` and a scan), so that polling alone gets there. Inside a
/// section the answer stays "no" for cookies taken in it. A yes orders as [`synchronize`] does. A `membarrier(2)` that is refused
/// shows as "no"; [`try_synchronize`] names it.
pub fn poll(cookie: Cookie) -> bool {
    prim::domain().poll(cookie.0).unwrap_or(false)
}

/// Waits until a full grace period has passed since the cookie was taken: at once if it has, else as
/// [`synchronize`].
///
/// # Panics
/// As [`synchronize`], if it has to wait.
pub fn wait(cookie: Cookie) {
    if !prim::domain().is_done(cookie.0) {
        synchronize();
    }
}
