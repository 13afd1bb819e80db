//! A grace period of a [`Domain`] as a `Future`.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::{Domain, DomainCookie};
use crate::error::SyncError;
use crate::inner::domain::yard::{Yard, care};

/// Resolves after a full grace period of a [`Domain`]. Made by [`Domain::grace_period`].
#[must_use = "futures do nothing unless awaited"]
pub struct DomainGracePeriod {
    cookie: DomainCookie,
    /// Where its task waits, if it does, and its place there, which is nobody else's whoever has the yard.
    place: Option<(&'static Yard, u64)>,
}

impl<Tag: 'static> Domain<Tag> {
    /// A future that resolves once every section of this domain that is open now has ended. It counts from this call, not from the first
    /// poll; needs no runtime; is `Send`, and holds nothing.
    ///
    /// Polling drives the grace period as far as it goes without waiting; if a reader is in the way, the caretaker wakes the task. (If
    /// that cannot be started, the task is woken at once, and polls again: busy, but right.) A future that is
    /// dropped leaves nothing behind.
    ///
    /// # Panics
    /// When polled inside a section of this domain of the same thread while the grace period is still to come, and if `membarrier(2)` is
    /// refused after start-up.
    pub fn grace_period(&self) -> DomainGracePeriod {
        DomainGracePeriod {
            cookie: self.start_poll(),
            place: None,
        }
    }
}

impl Future for DomainGracePeriod {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let DomainCookie { grounds, point } = self.cookie;
        let held = grounds.hold();
        match grounds.poll(point) {
            Ok(true) => return Poll::Ready(()),
            Ok(false) if grounds.is_inside() => {
                panic!("DomainGracePeriod: {}", SyncError::InsideSection)
            }
            Ok(false) => {}
            Err(error) => panic!("DomainGracePeriod: {error}"),
        }
        let (_, place) = self.place.get_or_insert((held.yard(), 0));
        if care::start() && held.tasks.put(place, point.1, context.waker()) {
            held.call();
        } else {
            context.waker().wake_by_ref();
        }
        Poll::Pending
    }
}

impl Drop for DomainGracePeriod {
    fn drop(&mut self) {
        if let Some((yard, place)) = self.place {
            let _held = self.cookie.grounds.hold_with(yard); // it may rest now
            yard.tasks.remove(place);
        }
    }
}

impl Clone for DomainGracePeriod {
    fn clone(&self) -> DomainGracePeriod {
        DomainGracePeriod {
            cookie: self.cookie,
            place: None,
        }
    }
}

impl fmt::Debug for DomainGracePeriod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DomainGracePeriod { cookie, .. } = self;
        f.debug_struct("DomainGracePeriod")
            .field("cookie", cookie)
            .finish()
    }
}
