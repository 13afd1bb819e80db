//! [`Cookie`]: a point in the sequence of a domain's grace periods.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::time::Duration;

use super::backend::{Backend as _, OfProcess, Point};
#[cfg(not(quiescent_model))]
use super::future::GracePeriod;
use super::handle::{Global, Handle};
use crate::api::backend::How;
use quiescent_core::parts::error::SyncError;

/// A point in the sequence of a domain's grace periods: it is done when a full grace period has passed since
/// it was taken.
///
/// Small and `Copy`: store it beside an object and ask later. It identifies its domain, but does not keep it
/// alive; if the domain is gone, the cookie is done. A cookie kept for more than 2⁶² grace periods may show
/// "not done" again.
///
/// ```
/// let cookie = quiescent::start_grace_period();
/// while !cookie.is_done() {
///     std::thread::yield_now(); // something useful
/// }
/// ```
pub struct Cookie<D: Handle = Global> {
    backend: D::OfBackend,
    point: Point,
}

impl Cookie {
    /// Makes a cookie that is done.
    pub const COMPLETED: Cookie = Cookie {
        backend: OfProcess,
        point: Point::PASSED,
    };
}

impl<D: Handle> Cookie<D> {
    pub(crate) fn start(backend: D::OfBackend) -> Cookie<D> {
        let point = backend.start();
        Cookie { backend, point }
    }

    pub(crate) fn backend(&self) -> D::OfBackend {
        self.backend
    }

    pub(crate) fn point(&self) -> Point {
        self.point
    }

    /// Returns whether a full grace period has passed since the cookie was taken. Never waits.
    ///
    /// If it has not, and no other thread drives the grace period, this call drives it as far as possible
    /// without waiting (about one `membarrier(2)` and a scan), so that polling alone completes it. For
    /// cookies taken inside the current section the result stays `false`. `true` orders as
    /// [`synchronize`](crate::synchronize) does. If `membarrier(2)` is refused the result is `false`;
    /// [`try_synchronize`](crate::try_synchronize) returns the error.
    #[doc(alias = "poll_state_synchronize_rcu")]
    pub fn is_done(self) -> bool {
        self.backend.poll(self.point).unwrap_or(false)
    }

    /// Waits until a full grace period has passed since the cookie was taken. Returns at once if it has;
    /// otherwise waits as [`synchronize`](crate::synchronize).
    ///
    /// # Panics
    /// As [`synchronize`](crate::synchronize), if it has to wait.
    #[doc(alias = "cond_synchronize_rcu")]
    #[track_caller]
    pub fn wait(self) {
        if let Err(error) = self.wait_as(How::default()) {
            panic!("Cookie::wait: {error}");
        }
    }

    /// As [`wait`](Cookie::wait), waiting for at most `timeout`, and returns an error instead of panicking.
    ///
    /// # Errors
    /// As [`synchronize_timeout`](crate::synchronize_timeout).
    pub fn wait_timeout(self, timeout: Duration) -> Result<(), SyncError> {
        self.wait_as(How::within(timeout))
    }

    fn wait_as(self, how: How) -> Result<(), SyncError> {
        match self.backend.is_done(self.point) {
            true => Ok(()),
            false => self.backend.wait(how),
        }
    }

    /// As [`wait`](Cookie::wait), for tasks.
    ///
    /// # Panics
    /// As [`GracePeriod`].
    #[cfg(not(quiescent_model))]
    pub fn wait_async(self) -> GracePeriod<D> {
        GracePeriod::of(self)
    }
}

impl<D: Handle> Clone for Cookie<D> {
    fn clone(&self) -> Cookie<D> {
        *self
    }
}

impl<D: Handle> Copy for Cookie<D> {}

impl<D: Handle> PartialEq for Cookie<D> {
    fn eq(&self, other: &Cookie<D>) -> bool {
        (self.backend, self.point) == (other.backend, other.point)
    }
}

impl<D: Handle> Eq for Cookie<D> {}

impl<D: Handle> Hash for Cookie<D> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.backend, self.point).hash(state);
    }
}

impl<D: Handle> fmt::Debug for Cookie<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Cookie").field(&self.point).finish()
    }
}
