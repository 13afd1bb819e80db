//! A grace period of a [`Domain`] as a `Future`.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::{Domain, DomainCookie};
use crate::error::SyncError;
use crate::inner::domain::yard::care;

/// Resolves after a full grace period of a [`Domain`]. Made by [`Domain::grace_period`].
#[derive(Clone, Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct DomainGracePeriod {
    cookie: DomainCookie,
}

impl<Tag: 'static> Domain<Tag> {
    /// A future that resolves once every section of this domain that is open now has ended. It counts from this call, not from the first
    /// poll; needs no runtime; is `Send`, and holds nothing.
    ///
    /// Polling drives the grace period as far as it goes without waiting; if a reader is in the way, the caretaker wakes the task. (If
    /// that cannot be started, the task is woken at once, and polls again: busy, but right.) A task that is dropped half-way costs a
    /// wake-up that nobody hears.
    ///
    /// # Panics
    /// When polled inside a section of this domain of the same thread while the grace period is still to come, and if `membarrier(2)` is
    /// refused after start-up.
    pub fn grace_period(&self) -> DomainGracePeriod {
        DomainGracePeriod {
            cookie: self.start_poll(),
        }
    }
}

impl Future for DomainGracePeriod {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
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
        if care::start() && held.tasks.add(point.1, context.waker()) {
            held.call();
        } else {
            context.waker().wake_by_ref();
        }
        Poll::Pending
    }
}
