//! A grace period of an [`Srcu`] as a `Future`.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::{Srcu, SrcuCookie};
use crate::inner::domain::yard::care;

/// Resolves after a full grace period of an [`Srcu`]. Made by [`Srcu::grace_period`].
#[must_use = "futures do nothing unless awaited"]
pub struct SrcuGracePeriod {
    cookie: SrcuCookie,
    /// The task's place among those that wait.
    place: u64,
}

impl Srcu {
    /// A future that resolves once every section that is open now has ended. It counts from this call, not from the first poll;
    /// needs no runtime; is `Send`, and holds nothing.
    ///
    /// Polling drives the grace period as far as it goes without waiting; if a reader is in the way, the caretaker wakes the task. (If
    /// that cannot be started, the task is woken at once, and polls again: busy, but right.) A future that is
    /// dropped leaves nothing behind.
    ///
    /// Awaiting it while the same task holds a guard of this `Srcu` is for ever.
    ///
    /// # Panics
    /// When polled, if `membarrier(2)` is refused after start-up.
    pub fn grace_period(&self) -> SrcuGracePeriod {
        SrcuGracePeriod {
            cookie: self.start_poll(),
            place: 0,
        }
    }
}

impl Future for SrcuGracePeriod {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let SrcuCookie { yard, cookie } = self.cookie;
        match yard.poll_gp(cookie) {
            Ok(true) => return Poll::Ready(()),
            Ok(false) => {}
            Err(error) => panic!("SrcuGracePeriod: {error}"),
        }
        if care::start() && yard.tasks.put(&mut self.place, cookie, context.waker()) {
            yard.call();
        } else {
            context.waker().wake_by_ref();
        }
        Poll::Pending
    }
}

impl Drop for SrcuGracePeriod {
    fn drop(&mut self) {
        self.cookie.yard.tasks.remove(self.place);
    }
}

impl Clone for SrcuGracePeriod {
    fn clone(&self) -> SrcuGracePeriod {
        SrcuGracePeriod {
            cookie: self.cookie,
            place: 0,
        }
    }
}

impl fmt::Debug for SrcuGracePeriod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SrcuGracePeriod { cookie, .. } = self;
        f.debug_struct("SrcuGracePeriod")
            .field("cookie", cookie)
            .finish()
    }
}
