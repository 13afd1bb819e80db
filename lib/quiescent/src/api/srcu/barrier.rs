//! The barrier of an [`Srcu`] as a `Future`.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::Srcu;
use crate::inner::defer::barrier::{Awaited, Barriers as _};
use crate::inner::domain::yard::Yard;

/// Resolves when everything queued in an [`Srcu`] before it was made has been freed or run. Made by [`Srcu::barrier_async`].
#[derive(Clone)]
#[must_use = "futures do nothing unless awaited"]
pub struct SrcuBarrier {
    yard: &'static Yard,
    awaited: Awaited,
}

impl Srcu {
    /// A future that resolves once everything that was queued here before this call, by any thread, has been freed or run.
    ///
    /// As [`barrier`](Srcu::barrier), for tasks, and as [`barrier_async`](crate::barrier_async()) in everything else. The caretaker
    /// runs what is queued, and wakes the task. Awaiting it while the same task holds a guard of this `Srcu` is for ever, if
    /// something was queued.
    ///
    /// # Panics
    /// When polled, if something is queued and `membarrier(2)` is refused after start-up.
    pub fn barrier_async(&self) -> SrcuBarrier {
        let yard = self.yard();
        SrcuBarrier {
            yard,
            awaited: yard.awaited(),
        }
    }
}

impl Future for SrcuBarrier {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let yard = self.yard;
        let polled = yard.poll_barrier(&mut self.awaited, context.waker());
        polled.map(|result| result.unwrap_or_else(|error| panic!("SrcuBarrier: {error}")))
    }
}

impl Drop for SrcuBarrier {
    fn drop(&mut self) {
        self.yard.forget(&mut self.awaited);
    }
}

impl fmt::Debug for SrcuBarrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SrcuBarrier").field(&self.awaited).finish()
    }
}
