//! Reclaiming memory without waiting: the public calls.
//!
//! Two verbs. **Retire** frees memory and nothing else: lazily by default, since nobody waits for it.
//! **Call** ([`call`](crate::call())) runs code. `*_hurry` for those who cannot wait.
//!
//! A retired object goes into the calling thread's own queue, with plain stores. A *plain* one (no
//! `Drop`) is given back to the allocator by the same thread, one or two at a time, in later calls of
//! `retire`: no wake-up, warm caches, and no code of the program runs under whatever locks the caller
//! holds. One with `Drop` is dropped by the worker, or in [`drain`](crate::drain). When a thread retires
//! no more, or ends, the worker looks after what it left, [`FLUSH`] later at most.
//!
//! None of these calls ever waits for readers, and none can fail. Not for signal handlers, nor for a
//! global allocator's own use.

use std::mem::needs_drop;
use std::ptr::NonNull;
use std::time::Duration;

use quiescent_engine::credit::{Defer, Urgency};

use crate::inner::defer::enqueue::{self, Parcel, Terms};
use crate::inner::prim;
use crate::inner::queue::kind;
use crate::inner::queue::lane::Entry;
use crate::inner::queue::per_thread::{CODE, PLAIN};
use crate::inner::queue::weight;
use crate::retired::Retired;

/// The longest that something retired lazily waits before a grace period is asked for on its account,
/// but for rounding up to the next whole second. By `CLOCK_MONOTONIC`, which stands still while the system is
/// suspended; so do all times of this library ([`set_flush_times`](crate::set_flush_times)).
pub const FLUSH: Duration = Duration::from_nanos(Defer::threads().lazy_ns);

/// The longest that a [`call`](crate::call()) waits before a grace period is asked for on its account.
pub const PROMPT: Duration = Duration::from_nanos(Defer::threads().prompt_ns);

/// Objects from this size on are counted against the batch's bytes one by one; of smaller ones the batch
/// takes so few bytes that their number limits it.
const LARGE: usize = 512;

/// One object counts as so many bytes at most: several of them do not overflow a signed number.
const MOST_BYTES: usize = 1 << 48;

/// How the caller of `retire` wants it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// It may wait, and the caller frees older objects.
    Lazy,
    /// Soon.
    Hurry,
    /// It may wait, and the caller frees nothing.
    NoReclaim,
}

/// [`Retired::retire`] as a function.
#[inline]
pub fn retire<T: Send + Sync + 'static>(retired: Retired<T>) {
    retired.retire();
}

/// [`Retired::retire_hurry`] as a function.
pub fn retire_hurry<T: Send + Sync + 'static>(retired: Retired<T>) {
    retired.retire_hurry();
}

/// [`Retired::retire_no_reclaim`] as a function.
pub fn retire_no_reclaim<T: Send + Sync + 'static>(retired: Retired<T>) {
    retired.retire_no_reclaim();
}

/// Frees a box after a grace period: for linked structures whose pointers own nothing. As
/// [`Retired::retire`] otherwise.
///
/// # Safety
/// `pointer` comes from `Box::into_raw`; no section that opens from now on can find the object (those
/// that are open may go on with it); it is retired once, and not freed or changed by anybody else.
///
/// ```
/// use std::ptr::NonNull;
///
/// let object = NonNull::from(Box::leak(Box::new([0u64; 8])));
/// // … published, read, unlinked …
/// unsafe { quiescent::retire_ptr(object) };
/// quiescent::barrier(); // for the example only: now it is freed
/// ```
#[inline(always)]
pub unsafe fn retire_ptr<T: Send + 'static>(pointer: NonNull<T>) {
    // SAFETY: the caller's promise.
    unsafe { retire_box(pointer, 0, Way::Lazy) };
}

/// As [`retire_ptr`], but soon: see [`Retired::retire_hurry`].
///
/// # Safety
/// As [`retire_ptr`].
pub unsafe fn retire_ptr_hurry<T: Send + 'static>(pointer: NonNull<T>) {
    // SAFETY: the caller's promise.
    unsafe { retire_box(pointer, 0, Way::Hurry) };
}

/// As [`retire_ptr`], and this call reclaims nothing: see [`Retired::retire_no_reclaim`].
///
/// # Safety
/// As [`retire_ptr`].
#[inline(always)]
pub unsafe fn retire_ptr_no_reclaim<T: Send + 'static>(pointer: NonNull<T>) {
    // SAFETY: the caller's promise.
    unsafe { retire_box(pointer, 0, Way::NoReclaim) };
}

/// # Safety
/// As [`retire_ptr`].
#[inline(always)]
pub(crate) unsafe fn retire_box<T: Send + 'static>(pointer: NonNull<T>, owned: usize, way: Way) {
    let Some((lane, entry, bytes)) = pack(pointer, owned) else {
        return;
    };
    match (way, needs_drop::<T>()) {
        (Way::Hurry, _) => {
            let (domain, terms) = (prim::domain(), Terms::of(Urgency::Hurry));
            if lane == PLAIN {
                domain.breakers.hurried(std::any::type_name::<T>); // the entry does not know its name
            }
            domain.deliver(Parcel::Entry(lane, entry, bytes), terms);
        }
        (Way::Lazy, true) => enqueue::code(entry, bytes, Urgency::Lazy),
        (Way::NoReclaim, true) => enqueue::code_only(entry, bytes),
        (Way::Lazy, false) => {
            let large = size_of::<T>() >= LARGE || owned != 0;
            // SAFETY: the caller's promise.
            unsafe { enqueue::plain(entry, bytes, large) };
        }
        // SAFETY: the caller's promise.
        (Way::NoReclaim, false) => unsafe { enqueue::plain_only(entry, bytes) },
    }
}

/// What goes into which lane for a box, and what it weighs; nothing where there is no memory, and nothing
/// to run.
#[inline(always)]
pub(crate) fn pack<T: Send + 'static>(
    pointer: NonNull<T>,
    owned: usize,
) -> Option<(usize, Entry, u64)> {
    let object = pointer.as_ptr();
    let bytes = weight::boxed::<T>().saturating_add(owned).min(MOST_BYTES) as u64;
    if !needs_drop::<T>() && size_of::<T>() == 0 {
        return None;
    }
    let (lane, entry) = if needs_drop::<T>() {
        let what = kind::dropped::<T>();
        let object = object.cast();
        (CODE, Entry { object, what })
    } else {
        (PLAIN, Entry::plain(object))
    };
    Some((lane, entry, bytes))
}
