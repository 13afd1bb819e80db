//! Grace periods and barriers as futures.
//!
//! Polling drives the grace period as far as possible without waiting, usually to its end. If a reader blocks
//! it, the worker drives it ([`pass`](quiescent_core::domain::pass)) and wakes the task.

use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::handle::{Global, Handle};
use quiescent_core::domain::points::Wait;

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
    /// Resolves after a full grace period of its domain. Made by [`grace_period`](crate::grace_period),
    /// [`RcuDomain::grace_period`](crate::RcuDomain::grace_period) and
    /// [`Cookie::wait_async`](crate::Cookie::wait_async).
    ///
    /// # Panics
    /// When polled inside a section of the same thread in the same domain before the grace period
    /// has ended (it would wait for itself), and if `membarrier(2)` is refused after start-up.
    GracePeriod
}
