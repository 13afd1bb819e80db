//! A reference that is set before its owner is published, and constant from then on.
//!
//! Its target may be created at the same time, and may contain the reference: a static may refer to itself.

use std::fmt;
use std::sync::atomic::{AtomicPtr, Ordering};

/// A reference to an object that lives forever. Models do not track it: it never changes while there are two
/// threads.
pub struct Fixed<T>(AtomicPtr<T>);

impl<T> Fixed<T> {
    /// # Safety
    /// `place` is the address of an object that lives forever and is complete before [`get`](Fixed::get) is
    /// called.
    pub const unsafe fn new(place: *const T) -> Fixed<T> {
        Fixed(AtomicPtr::new(place.cast_mut()))
    }

    /// The target.
    #[inline]
    pub fn get(&self) -> &'static T {
        // SAFETY: as `new` was promised.
        unsafe { &*self.0.load(Ordering::Relaxed) }
    }

    /// The address, valid before the target exists.
    #[inline]
    pub fn place(&self) -> *const T {
        self.0.load(Ordering::Relaxed)
    }
}

impl<T> fmt::Debug for Fixed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:p}", self.place())
    }
}
