//! Boxes and closures as entries of queues.

use std::mem::needs_drop;
use std::ptr::NonNull;
use std::time::Duration;

use quiescent_engine::credit::Urgency;

use super::handle::Handle;
use super::handle::sealed::INSIDE;
use crate::api::refused::Refusal;
use crate::global::with_local;
use quiescent_core::domain::enqueue::{self, Terms};
use quiescent_core::domain::error::SyncError;
use quiescent_core::domain::run;
use quiescent_core::domain::settings::INLINE;
use quiescent_core::domain::sweep::Until;
use quiescent_core::prim::counters::count;
use quiescent_core::queue::kind;
use quiescent_core::queue::lane::Entry;
use quiescent_core::queue::parcel::Parcel;
use quiescent_core::queue::per_thread::{CODE, OWN, PLAIN};
use quiescent_core::queue::weight::{self, Owned, UNKNOWN};

/// The batch counts the bytes of each object of at least this size; smaller ones take so few bytes that their
/// number limits the batch.
const LARGE: usize = 512;

/// What a retired value owns, and where its destructor runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Given {
    /// Bytes besides its own size, or [`UNKNOWN`].
    pub bytes: usize,
    /// A worker drops it, not the calling thread.
    pub on_worker: bool,
}

impl Given {
    /// Nothing was said.
    pub const NOTHING: Given = Given {
        bytes: UNKNOWN,
        on_worker: false,
    };
}

/// The lane, the entry and the weight of a box; `None` for a value without memory and without a destructor.
///
/// # Safety
/// `pointer` comes from `Box::into_raw`, and no other code frees it.
#[inline(always)]
unsafe fn pack<T: Send + 'static>(
    pointer: NonNull<T>,
    given: Given,
) -> Option<(usize, Entry, u64)> {
    let owned = Owned::by::<T>(given.bytes);
    let bytes = weight::boxed::<T>() as u64 + owned.bytes();
    let object = pointer.as_ptr();
    if needs_drop::<T>() {
        let lane = if given.on_worker { CODE } else { OWN };
        // SAFETY: a box of T, by the caller's promise.
        let entry = unsafe { Entry::new(object.cast(), kind::dropped::<T>(owned)) };
        return Some((lane, entry, bytes));
    }
    // SAFETY: as above.
    (size_of::<T>() != 0).then(|| (PLAIN, unsafe { Entry::plain(object, owned) }, bytes))
}

/// Frees a box after a grace period.
///
/// # Safety
/// `pointer` comes from `Box::into_raw`; no section that opens later can find the object; it is retired once,
/// and no other code frees or changes it.
#[inline(always)]
pub(crate) unsafe fn retire<T: Send + 'static>(
    domain: &impl Handle,
    pointer: NonNull<T>,
    given: Given,
    terms: Terms,
) {
    // Without a declaration everything but the pointer is a constant of the type.
    match given.bytes {
        UNKNOWN => {
            let given = Given {
                bytes: UNKNOWN,
                ..given
            };
            // SAFETY: the caller's promise.
            unsafe { retire_as(domain, pointer, given, terms) };
        }
        // SAFETY: the caller's promise.
        _ => unsafe { retire_declared(domain, pointer, given, terms) },
    }
}

/// The same for a value whose owned bytes were declared.
///
/// # Safety
/// As [`retire`].
#[inline(never)]
unsafe fn retire_declared<T: Send + 'static>(
    domain: &impl Handle,
    pointer: NonNull<T>,
    given: Given,
    terms: Terms,
) {
    // SAFETY: the caller's promise.
    unsafe { retire_as(domain, pointer, given, terms) };
}

/// # Safety
/// As [`retire`].
#[inline(always)]
unsafe fn retire_as<T: Send + 'static>(
    domain: &impl Handle,
    pointer: NonNull<T>,
    given: Given,
    terms: Terms,
) {
    // SAFETY: the caller's promise.
    let Some((lane, entry, bytes)) = (unsafe { pack(pointer, given) }) else {
        return;
    };
    let queue = match terms.urgency {
        Urgency::Hurry => None,
        Urgency::Lazy | Urgency::Prompt => domain.own_queue(INSIDE),
    };
    let Some(queue) = queue else {
        let state = domain.core_domain(INSIDE).state();
        return state.deliver(Parcel::Entry(lane, entry, bytes), terms);
    };
    match (terms.hands_off, lane) {
        // SAFETY: the caller's promise.
        (true, _) => unsafe { enqueue::only(queue, lane, entry, bytes) },
        (false, PLAIN) => {
            let large = size_of::<T>() >= LARGE || !matches!(given.bytes, 0 | UNKNOWN);
            // SAFETY: the caller's promise.
            unsafe { enqueue::plain(queue, entry, bytes, large) };
        }
        (false, OWN) => with_local(|local| run::own(local, queue, entry, bytes)),
        (false, _) => enqueue::push_code(queue, CODE, entry, bytes, Urgency::Lazy),
    }
}

/// The same, if the budget has room for it.
///
/// # Safety
/// As [`retire`].
pub(crate) unsafe fn try_retire<T: Send + 'static>(
    domain: &impl Handle,
    pointer: NonNull<T>,
    given: Given,
) -> Result<(), Refusal> {
    // SAFETY: the caller's promise.
    let result = unsafe { attempt(domain, pointer, given) };
    if result.is_err() {
        count(&domain.core_domain(INSIDE).state().counters.refused);
    }
    result
}

/// # Safety
/// As [`retire`].
unsafe fn attempt<T: Send + 'static>(
    domain: &impl Handle,
    pointer: NonNull<T>,
    given: Given,
) -> Result<(), Refusal> {
    let state = domain.core_domain(INSIDE).state();
    // A thread without a queue of its own has no credit, and takes the lock anyway.
    if state.is_easy()
        && domain
            .own_queue(INSIDE)
            .is_some_and(|queue| !queue.is_dummy())
    {
        // SAFETY: the caller's promise.
        unsafe { retire(domain, pointer, given, Terms::LAZY) };
        return Ok(());
    }
    // SAFETY: the caller's promise.
    match unsafe { pack(pointer, given) } {
        Some((lane, entry, bytes)) => state.try_deliver(lane, entry, bytes),
        None => Ok(()),
    }
}

/// The same, waiting for room.
///
/// # Safety
/// As [`retire`].
pub(crate) unsafe fn retire_wait<T: Send + 'static>(
    domain: &impl Handle,
    pointer: NonNull<T>,
    given: Given,
    limit: Duration,
) -> Result<(), Refusal> {
    let state = domain.core_domain(INSIDE).state();
    if state.in_section() {
        return Err(Refusal::CannotWait(SyncError::InsideSection));
    }
    if state.in_callback() {
        return Err(Refusal::CannotWait(SyncError::InsideCallback));
    }
    // SAFETY: the caller's promise.
    match unsafe { attempt(domain, pointer, given) } {
        Err(Refusal::Full(_)) => {}
        result => return result,
    }
    // SAFETY: the caller's promise.
    match unsafe { pack(pointer, given) } {
        Some((lane, entry, bytes)) => {
            state.deliver_when_room(lane, entry, bytes, Until::after(limit))
        }
        None => Ok(()),
    }
}

/// Runs a closure after a grace period.
#[inline]
pub(crate) fn defer<F: FnOnce() + Send + 'static>(domain: &impl Handle, f: F, urgency: Urgency) {
    let (object, what) = kind::called(f, urgency);
    // SAFETY: from `called`, and queued once.
    let entry = unsafe { Entry::new(object, what) };
    let bytes = weight::closure::<F>();
    let queue = match urgency {
        Urgency::Hurry => None,
        Urgency::Lazy | Urgency::Prompt => domain.own_queue(INSIDE),
    };
    let state = domain.core_domain(INSIDE).state();
    let inline = state.has(INLINE);
    let lane = if inline { OWN } else { CODE };
    match queue {
        None => state.deliver(Parcel::Entry(lane, entry, bytes), Terms::of(urgency)),
        Some(queue) if inline => {
            with_local(|local| run::own_call(local, queue, entry, bytes, urgency));
        }
        Some(queue) => enqueue::push_code(queue, CODE, entry, bytes, urgency),
    }
}
