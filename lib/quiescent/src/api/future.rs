//! Grace periods and barriers as futures.
//!
//! Polling drives the grace period as far as possible without waiting, usually to its end. If a reader blocks
//! it, the worker drives it ([`pass`](quiescent_core::domain::pass)) and wakes the task.

use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::handle::{Global, Handle};
#[cfg(not(quiescent_model))]
use super::home::start_grace_period;
#[cfg(not(quiescent_model))]
use quiescent_core::domain::error::SyncError;
use quiescent_core::domain::points::Wait;

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
#[cfg(not(quiescent_model))]
pub fn grace_period() -> GracePeriod {
    start_grace_period().wait_async()
}

/// As [`grace_period`], but returns an error instead of panicking.
#[cfg(not(quiescent_model))]
pub fn try_grace_period()
-> impl Future<Output = Result<(), SyncError>> + Send + Sync + Unpin + 'static {
    start_grace_period().as_wait()
}

/// Makes a future that panics at an error.
macro_rules! future {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Clone, Debug)]
        #[must_use = "futures do nothing unless awaited"]
        pub struct $name<D: Handle = Global> {
            wait: Wait,
            of: PhantomData<fn() -> D>,
        }

        impl<D: Handle> $name<D> {
            pub(crate) fn of(wait: Wait) -> $name<D> {
                let of = PhantomData;
                $name { wait, of }
            }
        }

        impl<D: Handle> Future for $name<D> {
            type Output = ();

            #[track_caller]
            fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
                match Pin::new(&mut self.wait).poll(context) {
                    Poll::Ready(Err(error)) => panic!("{}: {error}", stringify!($name)),
                    polled => polled.map(drop),
                }
            }
        }
    };
}

future! {
    /// Resolves when everything that was queued in a domain before the future was made has been freed or run.
    /// Made by [`barrier_async`](crate::barrier_async) and
    /// [`RcuDomain::barrier_async`](crate::RcuDomain::barrier_async).
    ///
    /// # Panics
    /// When polled inside a section of the same thread in the same domain while there is something
    /// to wait for (the future would never be ready there), and if something is queued and `membarrier(2)` is
    /// refused after start-up.
    BarrierFuture
}

#[cfg(not(quiescent_model))]
future! {
    /// Resolves after a full grace period of its domain. Made by [`grace_period`],
    /// [`RcuDomain::grace_period`](crate::RcuDomain::grace_period) and
    /// [`Cookie::wait_async`](crate::Cookie::wait_async).
    ///
    /// # Panics
    /// When polled inside a section of the same thread in the same domain before the grace period
    /// has ended (it would wait for itself), and if `membarrier(2)` is refused after start-up.
    GracePeriod
}
