//! What crossbeam-epoch has for programs of before its 0.9.2.
#![allow(deprecated)]

use std::sync::atomic::Ordering;

use crate::atomic::{Atomic, CompareExchangeError};
use crate::guard::Guard;
use crate::pointer::{Pointable, Pointer};
use crate::shared::Shared;

/// The error of a `compare_and_set`.
#[deprecated(note = "use `CompareExchangeError`")]
pub type CompareAndSetError<'g, T, P> = CompareExchangeError<'g, T, P>;

/// One ordering, from which that of a failure is taken; or both.
#[deprecated(note = "use `compare_exchange` or `compare_exchange_weak`")]
pub trait CompareAndSetOrdering {
    /// The ordering if the pointer is stored.
    fn success(&self) -> Ordering;

    /// The ordering if it is not.
    fn failure(&self) -> Ordering;
}

impl CompareAndSetOrdering for Ordering {
    fn success(&self) -> Ordering {
        *self
    }

    fn failure(&self) -> Ordering {
        match self {
            Ordering::Release => Ordering::Relaxed,
            Ordering::AcqRel => Ordering::Acquire,
            same => *same,
        }
    }
}

impl CompareAndSetOrdering for (Ordering, Ordering) {
    fn success(&self) -> Ordering {
        self.0
    }

    fn failure(&self) -> Ordering {
        self.1
    }
}

impl<T: ?Sized + Pointable> Atomic<T> {
    /// [`compare_exchange`](Self::compare_exchange).
    ///
    /// # Errors
    /// As there.
    #[deprecated(note = "use `compare_exchange`")]
    pub fn compare_and_set<'g, O: CompareAndSetOrdering, P: Pointer<T>>(
        &self,
        current: Shared<'_, T>,
        new: P,
        ord: O,
        guard: &'g Guard,
    ) -> Result<Shared<'g, T>, CompareAndSetError<'g, T, P>> {
        self.compare_exchange(current, new, ord.success(), ord.failure(), guard)
    }

    /// [`compare_exchange_weak`](Self::compare_exchange_weak).
    ///
    /// # Errors
    /// As there.
    #[deprecated(note = "use `compare_exchange_weak`")]
    pub fn compare_and_set_weak<'g, O: CompareAndSetOrdering, P: Pointer<T>>(
        &self,
        current: Shared<'_, T>,
        new: P,
        ord: O,
        guard: &'g Guard,
    ) -> Result<Shared<'g, T>, CompareAndSetError<'g, T, P>> {
        self.compare_exchange_weak(current, new, ord.success(), ord.failure(), guard)
    }
}
