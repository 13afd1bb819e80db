//! Callbacks whose queue link is inside the object, so that queueing allocates nothing.

use std::ptr::NonNull;

use quiescent_engine::credit::Urgency;

use super::handle::Handle;
use super::handle::sealed::INSIDE;
use crate::global::home;
use quiescent_core::domain::enqueue::Terms;
use quiescent_core::domain::state::State;
use quiescent_core::queue::parcel::{Callback, Parcel};

pub use quiescent_core::queue::intrusive::Head;

/// Runs `run(head)` after a grace period, as [`defer`](crate::defer()) does. Never fails, and never allocates
/// once the thread has queued something before: the link is inside the object.
///
/// # Safety
/// The head is not moved, and no other code uses it, until `run` is called with it, on any thread; calling
/// `run` then is sound.
///
/// ```
/// use quiescent::intrusive::{self, Head};
/// use std::ptr::NonNull;
///
/// #[repr(C)]
/// struct Node { head: Head, value: u32 }
///
/// unsafe fn free(head: NonNull<Head>) {
///     // The head is the first field: its address is the node's.
///     drop(unsafe { Box::from_raw(head.as_ptr().cast::<Node>()) });
/// }
///
/// let node = Box::into_raw(Box::new(Node { head: Head::new(), value: 7 }));
/// // … unlinked; `node` is a valid box, and its head is its first field:
/// unsafe { intrusive::defer(NonNull::new_unchecked(node.cast()), free) };
/// quiescent::barrier();
/// ```
#[doc(alias = "call_rcu")]
pub unsafe fn defer(head: NonNull<Head>, run: unsafe fn(NonNull<Head>)) {
    // SAFETY: the caller's promise.
    unsafe { deliver(home(), head, run, Urgency::Prompt) };
}

/// As [`defer`], but wakes the worker now: see [`defer_hurry`](crate::defer_hurry).
///
/// # Safety
/// As [`defer`].
pub unsafe fn defer_hurry(head: NonNull<Head>, run: unsafe fn(NonNull<Head>)) {
    // SAFETY: the caller's promise.
    unsafe { deliver(home(), head, run, Urgency::Hurry) };
}

/// As [`defer`], but lazy: see [`defer_lazy`](crate::defer_lazy).
///
/// # Safety
/// As [`defer`].
pub unsafe fn defer_lazy(head: NonNull<Head>, run: unsafe fn(NonNull<Head>)) {
    // SAFETY: the caller's promise.
    unsafe { deliver(home(), head, run, Urgency::Lazy) };
}

/// As [`defer`], after a grace period of `domain`.
///
/// # Safety
/// As [`defer`].
pub unsafe fn defer_in(domain: &impl Handle, head: NonNull<Head>, run: unsafe fn(NonNull<Head>)) {
    // SAFETY: the caller's promise.
    unsafe { deliver_in(domain, head, run, Urgency::Prompt) };
}

/// As [`defer_hurry`], after a grace period of `domain`.
///
/// # Safety
/// As [`defer`].
pub unsafe fn defer_hurry_in(
    domain: &impl Handle,
    head: NonNull<Head>,
    run: unsafe fn(NonNull<Head>),
) {
    // SAFETY: the caller's promise.
    unsafe { deliver_in(domain, head, run, Urgency::Hurry) };
}

/// As [`defer_lazy`], after a grace period of `domain`.
///
/// # Safety
/// As [`defer`].
pub unsafe fn defer_lazy_in(
    domain: &impl Handle,
    head: NonNull<Head>,
    run: unsafe fn(NonNull<Head>),
) {
    // SAFETY: the caller's promise.
    unsafe { deliver_in(domain, head, run, Urgency::Lazy) };
}

/// # Safety
/// As [`defer`].
unsafe fn deliver_in(
    domain: &impl Handle,
    head: NonNull<Head>,
    run: unsafe fn(NonNull<Head>),
    urgency: Urgency,
) {
    // SAFETY: the caller's promise.
    unsafe { deliver(domain.core_domain(INSIDE).state(), head, run, urgency) };
}

/// # Safety
/// As [`defer`].
unsafe fn deliver(
    to: &'static State,
    head: NonNull<Head>,
    run: unsafe fn(NonNull<Head>),
    urgency: Urgency,
) {
    // SAFETY: the caller's promise.
    let callback = unsafe { Callback::new(head, run) };
    to.deliver_code(Parcel::Head(callback), Terms::of(urgency));
}
