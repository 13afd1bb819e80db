//! A grace period as a `Future`.
//!
//! Polling drives the grace period as far as possible without waiting, usually to its end. If a reader blocks
//! it, the worker drives it ([`pass`](quiescent_core::domain::pass)) and wakes the task.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::cookie::Cookie;
use super::handle::{Global, Handle};
use super::wait::start_grace_period;
use quiescent_core::domain::error::SyncError;

/// A future that resolves once every section that is open now has ended.
///
/// The grace period counts from this call, not from the first poll. The future is `Send`; it contains no
/// guard, so it may be held across an `await` (a [`Guard`](crate::Guard) may not: it is not `Send`).
///
/// If the worker cannot be started, or there is no memory to record the task, the task is woken at once and
/// polls again until that succeeds. Dropping the future early has no side effects.
///
/// # Panics
/// As [`GracePeriod`]; [`try_grace_period`] does not.
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
/// # block_on(async {
/// let cell = quiescent::RcuCell::new(1);
/// let old = cell.store(2);
/// quiescent::grace_period().await;
/// // No reader uses `old` any more.
/// # drop(old);
/// # });
/// ```
pub fn grace_period() -> GracePeriod {
    start_grace_period().wait_async()
}

/// As [`grace_period`], but returns an error instead of panicking.
pub fn try_grace_period()
-> impl Future<Output = Result<(), SyncError>> + Send + Sync + Unpin + 'static {
    Waits::<Global>::of(start_grace_period())
}

/// Resolves after a full grace period of its domain. Made by [`grace_period`],
/// [`RcuDomain::grace_period`](crate::RcuDomain::grace_period) and [`Cookie::wait_async`].
///
/// # Panics
/// When polled inside a section of the same thread in the same domain before the grace period has ended (it
/// would wait for itself), and if `membarrier(2)` is refused after start-up.
#[derive(Clone, Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct GracePeriod<D: Handle = Global> {
    waits: Waits<D>,
}

impl<D: Handle> GracePeriod<D> {
    pub(crate) fn of(cookie: Cookie<D>) -> GracePeriod<D> {
        let waits = Waits::of(cookie);
        GracePeriod { waits }
    }
}

impl<D: Handle> Future for GracePeriod<D> {
    type Output = ();

    #[track_caller]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        match Pin::new(&mut self.waits).poll(context) {
            Poll::Ready(Err(error)) => panic!("GracePeriod: {error}"),
            polled => polled.map(|_| ()),
        }
    }
}

/// As [`GracePeriod`], but returns an error instead of panicking.
pub(crate) struct Waits<D: Handle> {
    cookie: Cookie<D>,
    /// The number under which the task is recorded among those that wait; 0: it is not.
    task: u64,
}

impl<D: Handle> Waits<D> {
    pub(crate) fn of(cookie: Cookie<D>) -> Waits<D> {
        let task = Default::default();
        Waits { cookie, task }
    }
}

impl<D: Handle> Future for Waits<D> {
    type Output = Result<(), SyncError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let (polled, point) = (self.cookie.poll(), self.cookie.point());
        match (polled, self.cookie.domain()) {
            (Ok(false), Some(domain)) if domain.caller_is_inside() => {
                Poll::Ready(Err(SyncError::InsideSection))
            }
            (Ok(false), Some(domain)) => {
                domain.wake_then(point, &mut self.task, context.waker());
                Poll::Pending
            }
            (Err(error), _) => Poll::Ready(Err(error)),
            _ => Poll::Ready(Ok(())),
        }
    }
}

impl<D: Handle> Drop for Waits<D> {
    fn drop(&mut self) {
        if let Some(domain) = self.cookie.domain().filter(|_| self.task != 0) {
            domain.state().tasks.remove(self.task);
        }
    }
}

impl<D: Handle> Clone for Waits<D> {
    fn clone(&self) -> Waits<D> {
        Waits::of(self.cookie)
    }
}

impl<D: Handle> fmt::Debug for Waits<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cookie.fmt(f)
    }
}
