//! A grace period of an [`Srcu`] as a `Future`.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::{Srcu, SrcuCookie};
use crate::inner::domain::yard::care;

/// Resolves after a full grace period of an [`Srcu`]. Made by [`Srcu::grace_period`].
#[derive(Clone, Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct SrcuGracePeriod {
    cookie: SrcuCookie,
}

impl Srcu {
    /// A future that resolves once every section that is open now has ended. It counts from this call, not from the first poll;
    /// needs no runtime; is `Send`, and holds nothing.
    ///
    /// Polling drives the grace period as far as it goes without waiting; if a reader is in the way, the caretaker wakes the task. (If
    /// that cannot be started, the task is woken at once, and polls again: busy, but right.) A task that is dropped half-way costs a
    /// wake-up that nobody hears.
    ///
    /// Awaiting it while the same task holds a guard of this `Srcu` is for ever.
    ///
    /// # Panics
    /// When polled, if `membarrier(2)` is refused after start-up.
    pub fn grace_period(&self) -> SrcuGracePeriod {
        SrcuGracePeriod {
            cookie: self.start_poll(),
        }
    }
}

impl Future for SrcuGracePeriod {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let SrcuCookie { yard, cookie } = self.cookie;
        match yard.poll_gp(cookie) {
            Ok(true) => return Poll::Ready(()),
            Ok(false) => {}
            Err(error) => panic!("SrcuGracePeriod: {error}"),
        }
        if care::start() && yard.tasks.add(cookie, context.waker()) {
            yard.call();
        } else {
            context.waker().wake_by_ref();
        }
        Poll::Pending
    }
}
