//! Points in the sequence of a domain's grace periods: [`Cookie`].

use std::fmt;
use std::hash::{Hash, Hasher};
use std::time::Duration;

use quiescent_engine::FullCookie;

use super::backend::{Backend, OfProcess};
#[cfg(not(quiescent_model))]
use super::future::GracePeriod;
use super::handle::{Global, Handle, sealed::Sealed};
use crate::api::backend::How;
use crate::api::error::SyncError;

/// A point in the sequence of a domain's grace periods: "a full grace period from now".
///
/// Small and `Copy`: keep it beside an object and ask later. It knows its domain, and keeps it alive as little as a number would; of a
/// domain that is gone, every cookie is done. A program that keeps cookies for longer than 2⁶² grace periods will be told "not yet" again.
///
/// ```
/// let cookie = quiescent::start_grace_period();
/// while !cookie.is_done() {
///     std::thread::yield_now(); // something useful
/// }
/// ```
pub struct Cookie<D: Handle = Global> {
    backend: D::OfBackend,
    point: <<D as Sealed>::OfBackend as Backend>::Point,
}

impl Cookie {
    /// A cookie that is done.
    pub const COMPLETED: Cookie = Cookie {
        backend: OfProcess,
        point: FullCookie::COMPLETED,
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

    pub(crate) fn point(&self) -> <D::OfBackend as Backend>::Point {
        self.point
    }

    /// Has a full grace period passed since the cookie was taken? Never waits.
    ///
    /// If it has not, and nobody drives the grace period, this call helps it along as far as that goes
    /// without waiting (about one `membarrier(2)` and a scan), so that polling alone gets there. Inside a
    /// section the answer stays "no" for cookies taken in it. A yes orders as [`synchronize`](crate::synchronize) does. A
    /// `membarrier(2)` that is refused shows as "no"; [`try_synchronize`](crate::try_synchronize) names it.
    #[doc(alias = "poll_state_synchronize_rcu")]
    pub fn is_done(self) -> bool {
        self.backend.poll(self.point).unwrap_or(false)
    }

    /// Waits until a full grace period has passed since the cookie was taken: at once if it has, else as
    /// [`synchronize`](crate::synchronize).
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

    /// As [`wait`](Cookie::wait), giving up after `timeout`, and returning the reason why it cannot.
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
