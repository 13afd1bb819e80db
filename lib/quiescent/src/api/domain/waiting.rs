//! Waiting for a domain's grace periods.

use std::time::Duration;

use super::RcuDomain;
use crate::api::backend::Backend as _;
use crate::api::backend::How;
use crate::api::cookie::Cookie;
use crate::api::error::SyncError;
#[cfg(not(quiescent_model))]
use crate::api::future::{self, GracePeriod};
use crate::api::kind::Kind;

impl<Tag: 'static, K: Kind> RcuDomain<Tag, K> {
    /// Waits for a grace period: until every section of this domain that was open when this was called has ended.
    ///
    /// # Ordering
    /// As [`synchronize`](crate::synchronize), for sections of this domain.
    ///
    /// # Panics
    /// Inside a section of this domain or of the process's, and inside a callback; if `membarrier(2)` was taken away since start-up.
    /// [`try_synchronize`](RcuDomain::try_synchronize) returns these.
    #[doc(alias = "synchronize_srcu")]
    #[track_caller]
    pub fn synchronize(&self) {
        if let Err(error) = self.try_synchronize() {
            panic!("synchronize: {error}");
        }
    }

    /// As [`synchronize`](RcuDomain::synchronize), returning the reason why it cannot.
    ///
    /// # Errors
    /// [`SyncError::InsideSection`] (in an [`Srcu`](crate::Srcu) only for a section of the process's domain),
    /// [`SyncError::InsideCallback`], [`SyncError::FenceRefused`], [`SyncError::OutOfMemory`]. No grace period has been waited for then.
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
        self.backend().wait(How::default())
    }

    /// As [`try_synchronize`](RcuDomain::try_synchronize), giving up after `timeout`.
    ///
    /// # Errors
    /// Also [`SyncError::TimedOut`], with the readers that are in the way.
    ///
    /// ```
    /// use std::time::Duration;
    /// use quiescent::{Srcu, SyncError};
    ///
    /// let srcu = Srcu::new();
    /// let guard = srcu.read_lock();
    /// let result = srcu.synchronize_timeout(Duration::from_millis(1));
    /// assert!(matches!(result, Err(SyncError::TimedOut { .. })));
    /// drop(guard);
    /// assert_eq!(srcu.synchronize_timeout(Duration::from_secs(60)), Ok(()));
    /// ```
    pub fn synchronize_timeout(&self, timeout: Duration) -> Result<(), SyncError> {
        self.backend().wait(How::within(timeout))
    }

    /// As [`synchronize`](RcuDomain::synchronize), in a hurry: spins longer before it sleeps.
    ///
    /// # Panics
    /// As [`synchronize`](RcuDomain::synchronize).
    #[track_caller]
    pub fn synchronize_expedited(&self) {
        if let Err(error) = self.backend().wait(How::EXPEDITED) {
            panic!("synchronize_expedited: {error}");
        }
    }

    /// Asks for a grace period without waiting, and returns the cookie it will satisfy.
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
        Cookie::start(self.backend())
    }

    /// A future that resolves once every section of this domain that is open now has ended: [`grace_period`](crate::grace_period()) for it.
    ///
    /// It counts from this call, not from the first poll; needs no runtime; is `Send`, and keeps nothing alive. Polling drives the grace
    /// period as far as it goes without waiting; if a reader is in the way, the worker wakes the task. (If that cannot be started, the
    /// task is woken at once, and polls again: busy, but right.) A future that is dropped leaves nothing behind.
    ///
    /// # Panics
    /// As [`GracePeriod`].
    #[cfg(not(quiescent_model))]
    pub fn grace_period(&self) -> GracePeriod<RcuDomain<Tag, K>> {
        self.start_grace_period().wait_async()
    }

    /// As [`grace_period`](RcuDomain::grace_period), with the reason why it cannot in place of a panic.
    #[cfg(not(quiescent_model))]
    pub fn try_grace_period(
        &self,
    ) -> impl Future<Output = Result<(), SyncError>> + Send + Sync + Unpin + 'static {
        future::Waits::of(self.start_grace_period())
    }
}
