//! Functions for [`Collector::retire`](crate::Collector::retire) and
//! [`Guard::defer_retire`](crate::Guard::defer_retire).

use crate::collector::Collector;

/// Drops a box.
///
/// # Safety
/// The pointer is from `Box::into_raw`, and is not used again.
pub unsafe fn boxed<T>(ptr: *mut T, _: &Collector) {
    // SAFETY: the caller's promise.
    drop(unsafe { Box::from_raw(ptr) });
}

/// Drops a value, and leaves its memory alone.
///
/// # Safety
/// As [`drop_in_place`](std::ptr::drop_in_place).
pub unsafe fn in_place<T>(ptr: *mut T, _: &Collector) {
    // SAFETY: the caller's promise.
    unsafe { ptr.drop_in_place() };
}
