//! The barrier of a [`Domain`] as a `Future`.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::Domain;
use crate::error::SyncError;
use crate::inner::defer::barrier::{Awaited, Barriers as _};
use crate::inner::domain::grounds::Grounds;
use crate::inner::domain::yard::Yard;

/// Resolves when everything queued in a [`Domain`] before it was made has been freed or run. Made by [`Domain::barrier_async`].
#[must_use = "futures do nothing unless awaited"]
pub struct DomainBarrier {
    grounds: &'static Grounds,
    /// The epoch in which it was made: in a later one there is nothing left of this.
    epoch: u64,
    /// What the domain had then.
    yard: &'static Yard,
    awaited: Awaited,
}

impl<Tag: 'static> Domain<Tag> {
    /// A future that resolves once everything that was queued here before this call, by any thread, has been freed or run.
    ///
    /// As [`barrier`](Domain::barrier), for tasks, and as [`barrier_async`](crate::barrier_async()) in everything else. The caretaker
    /// runs what is queued, and wakes the task.
    ///
    /// # Panics
    /// When polled inside a section of this domain of the same thread while there is something to wait for, and if something is queued
    /// and `membarrier(2)` is refused after start-up.
    pub fn barrier_async(&self) -> DomainBarrier {
        let grounds = self.grounds();
        let held = grounds.hold();
        DomainBarrier {
            grounds,
            epoch: grounds.epoch(),
            yard: held.yard(),
            awaited: held.awaited(),
        }
    }
}

impl Future for DomainBarrier {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        let held = this.grounds.hold_with(this.yard);
        let Some(held) = held.filter(|_| this.grounds.epoch() == this.epoch) else {
            crate::inner::prim::full_fence();
            return Poll::Ready(());
        };
        let polled = held.yard().poll_barrier(&mut this.awaited, context.waker());
        assert!(
            polled.is_ready() || !this.grounds.is_inside(),
            "DomainBarrier: {}",
            SyncError::InsideSection
        );
        polled.map(|result| result.unwrap_or_else(|error| panic!("DomainBarrier: {error}")))
    }
}

impl Drop for DomainBarrier {
    fn drop(&mut self) {
        self.yard.forget(&mut self.awaited); // its place is nobody else's, whoever has the yard
    }
}

impl fmt::Debug for DomainBarrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DomainBarrier").finish_non_exhaustive()
    }
}
