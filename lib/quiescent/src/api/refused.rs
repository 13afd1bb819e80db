//! [`Refused`]: what a call returns that could not retire or wait: the object, and the reason.

use std::error::Error;
use std::fmt;

pub use quiescent_core::domain::error::{Fullness, Refusal};

/// An object that was **not** retired, or not waited for, and the reason. Returned by
/// [`Retired::try_retire`], [`Retired::try_wait`] and related methods.
///
/// [`Retired::try_retire`]: crate::Retired::try_retire
/// [`Retired::try_wait`]: crate::Retired::try_wait
///
/// ```
/// use quiescent::{RcuCell, Refused};
///
/// let cell = RcuCell::new([0u8; 100]);
/// let old = cell.store([1; 100]);
/// if let Err(Refused { object, reason, .. }) = old.try_retire() {
///     eprintln!("{reason}");
///     drop(object.wait()); // go no faster than the readers
/// }
/// ```
#[must_use = "what is in here is still to be retired"]
#[non_exhaustive]
pub struct Refused<R, E = Refusal> {
    /// The object, as it was before the call.
    pub object: R,
    /// The reason.
    pub reason: E,
}

impl<R, E> Refused<R, E> {
    pub(crate) fn new(object: R, reason: E) -> Refused<R, E> {
        Refused { object, reason }
    }
}

impl<R, E: fmt::Debug> fmt::Debug for Refused<R, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Refused")
            .field("reason", &self.reason)
            .finish_non_exhaustive()
    }
}

impl<R, E: fmt::Display> fmt::Display for Refused<R, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.reason.fmt(f)
    }
}

impl<R, E: fmt::Debug + fmt::Display> Error for Refused<R, E> {}
