//! Storage for a lock's guard between the two handlers of a fork, beside the data that the lock protects.

use std::cell::UnsafeCell;
use std::fmt;

use crate::prim::MutexGuard;

/// A place for a guard between two handlers.
pub struct Parked<T: 'static>(UnsafeCell<Option<MutexGuard<'static, T>>>);

// SAFETY: used only by handlers, which hold the right to fork; the guard never leaves the thread that forks.
unsafe impl<T> Sync for Parked<T> {}
// SAFETY: as above.
unsafe impl<T> Send for Parked<T> {}

impl<T> fmt::Debug for Parked<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Parked")
    }
}

impl<T> Parked<T> {
    pub const fn new() -> Parked<T> {
        Parked(UnsafeCell::new(None))
    }

    /// # Safety
    /// The caller holds the right to fork.
    pub unsafe fn is_some(&self) -> bool {
        // SAFETY: there is no other reference into the cell meanwhile.
        unsafe { (*self.0.get()).is_some() }
    }

    /// # Safety
    /// The caller holds the right to fork.
    pub unsafe fn put(&self, guard: MutexGuard<'static, T>) {
        // SAFETY: as above.
        unsafe { *self.0.get() = Some(guard) };
    }

    /// # Safety
    /// The caller holds the right to fork, and no other reference to the content.
    #[allow(clippy::mut_from_ref, reason = "the place is the caller's alone")]
    pub unsafe fn get(&self) -> Option<&mut MutexGuard<'static, T>> {
        // SAFETY: as above.
        unsafe { (*self.0.get()).as_mut() }
    }

    /// # Safety
    /// The caller holds the right to fork.
    pub unsafe fn take(&self) -> Option<MutexGuard<'static, T>> {
        // SAFETY: as above.
        unsafe { (*self.0.get()).take() }
    }
}
