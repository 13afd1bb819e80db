//! Waiting for a domain's grace periods.

use std::time::Duration;

use super::RcuDomain;
use crate::api::cookie::Cookie;
#[cfg(not(quiescent_model))]
use crate::api::future::GracePeriod;
use crate::api::kind::Kind;
use quiescent_core::domain::driver::How;
use quiescent_core::domain::error::SyncError;

impl<Tag: 'static, K: Kind> RcuDomain<Tag, K> {
    /// Waits for a grace period: until every section of this domain that was open when this was called has
    /// ended.
    ///
    /// # Ordering
    /// As [`synchronize`](crate::synchronize), for sections of this domain.
    ///
    /// # Panics
    /// Inside a section of this domain or of the process's, and inside a callback; if `membarrier(2)` is
    /// refused after start-up. [`try_synchronize`](RcuDomain::try_synchronize) returns these as errors.
    #[doc(alias = "synchronize_srcu")]
    #[track_caller]
    pub fn synchronize(&self) {
        if let Err(error) = self.try_synchronize() {
            panic!("synchronize: {error}");
        }
    }

    /// As [`synchronize`](RcuDomain::synchronize), but returns an error instead of panicking.
    ///
    /// # Errors
    /// [`SyncError::InsideSection`] (not for guards that are [`Sendable`](crate::Sendable)),
    /// [`SyncError::InsideCallback`], [`SyncError::FenceRefused`], [`SyncError::OutOfMemory`]. No grace
    /// period has been waited for then.
    ///
    /// ```
    /// use quiescent::{Domain, SyncError};
    ///
    /// let domain = Domain::new();
    /// let guard = domain.read_lock();
    /// assert_eq!(domain.try_synchronize(), Err(SyncError::InsideSection));
    /// # drop(guard);
    /// ```
    pub fn try_synchronize(&self) -> Result<(), SyncError> {
        self.core().state().synchronize(How::default())
    }

    /// As [`try_synchronize`](RcuDomain::try_synchronize), waiting for at most `timeout`.
    ///
    /// # Errors
    /// Also [`SyncError::TimedOut`], with the readers that blocked the grace period.
    ///
    /// ```
    /// use std::time::Duration;
    /// use quiescent::{Srcu, SyncError};
    ///
    /// let srcu = Srcu::new();
    /// let guard = srcu.read_lock_send();
    /// let result = srcu.synchronize_timeout(Duration::from_millis(1));
    /// assert!(matches!(result, Err(SyncError::TimedOut { .. })));
    /// drop(guard);
    /// assert_eq!(srcu.synchronize_timeout(Duration::from_secs(60)), Ok(()));
    /// ```
    pub fn synchronize_timeout(&self, timeout: Duration) -> Result<(), SyncError> {
        self.core().state().synchronize(How::within(timeout))
    }

    /// As [`synchronize`](RcuDomain::synchronize), but spins longer before it sleeps.
    ///
    /// # Panics
    /// As [`synchronize`](RcuDomain::synchronize).
    #[track_caller]
    pub fn synchronize_expedited(&self) {
        if let Err(error) = self.core().state().synchronize(How::EXPEDITED) {
            panic!("synchronize_expedited: {error}");
        }
    }

    /// Requests a grace period without waiting, and returns a cookie for it.
    ///
    /// ```
    /// use quiescent::Domain;
    ///
    /// let domain = Domain::new();
    /// let cookie = domain.start_grace_period();
    /// while !cookie.is_done() {
    ///     std::thread::yield_now();
    /// }
    /// ```
    #[doc(alias = "start_poll_synchronize_srcu")]
    pub fn start_grace_period(&self) -> Cookie<RcuDomain<Tag, K>> {
        Cookie::start(self.core())
    }

    /// A future that resolves once every section of this domain that is open now has ended:
    /// [`grace_period`](crate::grace_period()) for it.
    ///
    /// It counts from this call, not from the first poll; needs no runtime; is `Send`; keeps nothing alive.
    /// Polling drives the grace period as far as possible without waiting; if a reader blocks it, the worker
    /// wakes the task. (If the worker cannot be started, the task is woken at once and polls again until that
    /// succeeds.) Dropping the future early has no side effects.
    ///
    /// # Panics
    /// As [`GracePeriod`].
    #[cfg(not(quiescent_model))]
    pub fn grace_period(&self) -> GracePeriod<RcuDomain<Tag, K>> {
        self.start_grace_period().wait_async()
    }

    /// As [`grace_period`](RcuDomain::grace_period), but returns an error instead of panicking.
    #[cfg(not(quiescent_model))]
    pub fn try_grace_period(
        &self,
    ) -> impl Future<Output = Result<(), SyncError>> + Send + Sync + Unpin + 'static {
        self.start_grace_period().as_wait()
    }
}
