//! The barrier of the process's domain as a `Future`.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::error::SyncError;
use crate::guard::in_section;
use crate::inner::defer::barrier::{Awaited, Barriers as _};
use crate::inner::prim;

/// Resolves when everything queued before it was made has been freed or run. Made by [`barrier_async`].
#[derive(Clone, Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct Barrier {
    awaited: Awaited,
}

/// A future that resolves once everything that was queued before this call, by any thread, has been freed or run.
///
/// As [`barrier`](crate::barrier()), for tasks. It counts from this call, not from the first poll. `Send`; needs no runtime; holds
/// no lock. Futures that are made at about the same time, and threads that wait, share one barrier.
///
/// Polling begins the barrier, if none is under way, and never waits for readers or callbacks; the worker runs what is queued, and
/// wakes the task. What is queued between this call and the first poll may be waited for as well. A future that is dropped half-way
/// leaves nothing behind. In a callback that it has to wait for it is pending, as anywhere else; do not block on it there.
///
/// If the worker cannot be started, or there is no memory for the task's place, the task is woken at once and polls again: busy, but
/// right.
///
/// # Panics
/// When polled inside a section of the same thread while there is something to wait for (awaiting it there would be for ever), and
/// if something is queued and `membarrier(2)` is refused after start-up.
///
/// ```
/// # fn block_on<F: std::future::Future>(future: F) -> F::Output {
/// #     use std::task::{Context, Poll, Waker};
/// #     let mut future = std::pin::pin!(future);
/// #     loop {
/// #         match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
/// #             Poll::Ready(output) => return output,
/// #             Poll::Pending => std::thread::yield_now(),
/// #         }
/// #     }
/// # }
/// use std::sync::atomic::{AtomicBool, Ordering};
///
/// static DONE: AtomicBool = AtomicBool::new(false);
/// # block_on(async {
/// quiescent::call(|| DONE.store(true, Ordering::Release));
/// quiescent::barrier_async().await;
/// assert!(DONE.load(Ordering::Acquire));
/// # });
/// ```
pub fn barrier_async() -> Barrier {
    Barrier {
        awaited: prim::domain().awaited(),
    }
}

impl Future for Barrier {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let polled = prim::domain().poll_barrier(&mut self.awaited, context.waker());
        assert!(
            polled.is_ready() || !in_section(),
            "Barrier: {}",
            SyncError::InsideSection
        );
        polled.map(|result| result.unwrap_or_else(|error| panic!("Barrier: {error}")))
    }
}

impl Drop for Barrier {
    fn drop(&mut self) {
        prim::domain().forget(&mut self.awaited);
    }
}
