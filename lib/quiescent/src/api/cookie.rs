//! [`Cookie`]: a point in the sequence of a domain's grace periods.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::time::Duration;

#[cfg(not(quiescent_model))]
use super::future::GracePeriod;
use super::handle::{Global, Handle};
use super::home::must;
use quiescent_core::domain::driver::How;
use quiescent_core::domain::error::SyncError;
use quiescent_core::domain::life::Domain;
use quiescent_core::domain::points::Point;
#[cfg(not(quiescent_model))]
use quiescent_core::domain::points::Wait;

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
    domain: Place,
    point: Point,
    of: PhantomData<fn() -> D>,
}

/// The address of a domain, or null. Without its type, so that a cookie may be the key of a map: what a key
/// leads to must not change.
#[derive(Clone, Copy)]
struct Place(*const ());

// SAFETY: domains are shared by threads.
unsafe impl Send for Place {}

// SAFETY: as above.
unsafe impl Sync for Place {}

impl Cookie {
    /// Makes a cookie that is done.
    pub const COMPLETED: Cookie = Cookie {
        domain: Place(std::ptr::null()),
        point: Point::PASSED,
        of: PhantomData,
    };
}

impl<D: Handle> Cookie<D> {
    pub(crate) fn start(domain: &'static Domain) -> Cookie<D> {
        Cookie {
            domain: Place(std::ptr::from_ref(domain).cast()),
            point: domain.point(),
            of: PhantomData,
        }
    }

    /// `None`: the process's, at a point that has passed.
    fn domain(&self) -> Option<&'static Domain> {
        // SAFETY: null, or a domain; domains live forever.
        unsafe { self.domain.0.cast::<Domain>().as_ref() }
    }

    /// For a task that waits for it.
    #[cfg(not(quiescent_model))]
    pub(crate) fn as_wait(self) -> Wait {
        Wait::for_grace_period(self.domain(), self.point)
    }

    fn key(&self) -> (*const (), Point) {
        (self.domain.0, self.point)
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
        self.domain()
            .is_none_or(|domain| domain.poll(self.point).unwrap_or(false))
    }

    /// Waits until a full grace period has passed since the cookie was taken. Returns at once if it has;
    /// otherwise waits as [`synchronize`](crate::synchronize).
    ///
    /// # Panics
    /// As [`synchronize`](crate::synchronize), if it has to wait.
    #[doc(alias = "cond_synchronize_rcu")]
    #[track_caller]
    pub fn wait(self) {
        must(self.wait_as(How::default()), "Cookie::wait");
    }

    /// As [`wait`](Cookie::wait), waiting for at most `timeout`, and returns an error instead of panicking.
    ///
    /// # Errors
    /// As [`synchronize_timeout`](crate::synchronize_timeout).
    pub fn wait_timeout(self, timeout: Duration) -> Result<(), SyncError> {
        self.wait_as(How::within(timeout))
    }

    fn wait_as(self, how: How) -> Result<(), SyncError> {
        match self.domain() {
            Some(domain) if !domain.is_done(self.point) => domain.state().synchronize(how),
            _ => Ok(()),
        }
    }

    /// As [`wait`](Cookie::wait), for tasks.
    ///
    /// # Panics
    /// As [`GracePeriod`].
    #[cfg(not(quiescent_model))]
    pub fn wait_async(self) -> GracePeriod<D> {
        GracePeriod::of(self.as_wait())
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
        self.key() == other.key()
    }
}

impl<D: Handle> Eq for Cookie<D> {}

impl<D: Handle> Hash for Cookie<D> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

impl<D: Handle> fmt::Debug for Cookie<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Cookie").field(&self.point).finish()
    }
}
