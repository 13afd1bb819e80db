//! For structures that link their objects with pointers of their own: what they retire has any type, and the
//! caller vouches for it.

use super::handle::Global;
use super::queueing;
use quiescent_core::queue::weight::UNKNOWN;

/// Calls `free(object)` after a grace period: for objects that are no boxes, and for types that are neither
/// `Send` nor `'static`. (A box of a type that is both: [`Retired::from_raw`](crate::Retired::from_raw).)
///
/// Lazy, and never waits, as [`Retired::retire`](crate::Retired::retire). `free` runs where a destructor of a
/// retired value does: in a later call of this thread that retires, outside of its sections; at the end of a
/// section in which it has retired; or on the worker. So it must not take a lock that is held there. It may
/// retire, but not wait for a grace period; a panic in it is contained and
/// [reported](crate::report::on_report). In the child of a fork it does not run for what was queued before,
/// unless [`inherit_callbacks`](crate::Options::inherit_callbacks) is set.
///
/// `object` is only handed to `free`. It counts as a box of `T` would for the
/// [budget](crate::tuning::set_budget()): the size of `T`, and 1 KiB more if `T` has a destructor.
/// [`retire_weighed`] takes another amount. The queue's entry contains both addresses, so the call allocates
/// nothing.
///
/// # Safety
/// * No section that opens later can find the object. Sections that are open now may continue to use it.
/// * Once they have ended, `free(object)` is sound: one time, on any thread, and as late as the end of the
///   process. What it refers to is alive until then.
///
/// # Cost
/// As a box without a destructor, and the marks that the thread runs code of the program: `ci/instructions`.
///
/// ```
/// use std::alloc::{Layout, alloc, dealloc};
///
/// let layout = Layout::new::<[u64; 8]>();
/// let block: *mut [u64; 8] = unsafe { alloc(layout) }.cast();
/// // … published, read, unlinked …
///
/// /// # Safety
/// /// A block of this layout, which no code uses any more.
/// unsafe fn free(block: *mut [u64; 8]) {
///     unsafe { dealloc(block.cast(), Layout::new::<[u64; 8]>()) };
/// }
/// unsafe { quiescent::retire(block, free) };
/// quiescent::barrier(); // for the example only: now it is freed
/// ```
#[doc(alias = "call_rcu")]
#[doc(alias = "defer_destroy")]
#[doc(alias = "defer_retire")]
#[inline(always)]
pub unsafe fn retire<T>(object: *mut T, free: unsafe fn(*mut T)) {
    // SAFETY: the caller's promise.
    unsafe { queueing::retire_by(&Global, object, free, UNKNOWN) };
}

/// As [`retire`], with the number of bytes that the object owns besides the size of `T`: the array behind a
/// node, a buffer. The amount is rounded as that of
/// [`with_owned_bytes`](crate::Retired::with_owned_bytes). A wrong amount makes the program hold more or
/// less memory than the budget says, and nothing else.
///
/// # Safety
/// As [`retire`].
///
/// ```
/// # use quiescent::statistics;
/// let buffer = Box::into_raw(Box::new(vec![0u8; 100_000]));
/// // … published, read, unlinked …
/// unsafe fn free(buffer: *mut Vec<u8>) {
///     drop(unsafe { Box::from_raw(buffer) });
/// }
/// unsafe { quiescent::retire_weighed(buffer, free, 100_000) };
/// assert!(statistics().queued_bytes >= 100_000);
/// # quiescent::barrier();
/// ```
#[inline(always)]
pub unsafe fn retire_weighed<T>(object: *mut T, free: unsafe fn(*mut T), owned_bytes: usize) {
    // SAFETY: the caller's promise.
    unsafe { queueing::retire_by(&Global, object, free, owned_bytes.min(UNKNOWN - 1)) };
}

/// Runs `f` after a grace period, also if it is neither `Send` nor `'static`: for structures that free what
/// they have unlinked, and keep what `f` uses alive as long.
///
/// Lazy, and runs where destructors do: as [`retire`]. ([`defer`](crate::defer()) is prompt and runs on the
/// worker; [`defer_lazy`](crate::defer_lazy) is as late as this.) A closure of one word, such as a pointer,
/// is stored in the queue, a larger one in a box. A pointer and a function need no box: [`retire`].
///
/// # Safety
/// `f` may be run after the grace period, on any thread, and as late as the end of the process: what it
/// captures may be used there, and is alive until then.
///
/// ```
/// let node = Box::into_raw(Box::new(std::rc::Rc::new(5)));
/// // … published, read, unlinked …
/// // SAFETY: no clone of the `Rc` exists, so any thread may drop it.
/// unsafe { quiescent::defer_unchecked(move || drop(Box::from_raw(node))) };
/// quiescent::barrier(); // for the example only: now it is freed
/// ```
#[inline]
pub unsafe fn defer_unchecked<F: FnOnce()>(f: F) {
    // SAFETY: the caller's promise.
    unsafe { queueing::defer_unchecked(&Global, f) };
}
