//! Boxes and closures as entries of queues.

use std::mem::needs_drop;
use std::ptr::NonNull;
use std::time::Duration;

use quiescent_engine::credit::Urgency;

use super::handle::Handle;
use super::handle::sealed::INSIDE;
use crate::global::with_local;
use quiescent_core::domain::enqueue::{self, Terms};
use quiescent_core::domain::error::Refusal;
use quiescent_core::domain::error::SyncError;
use quiescent_core::domain::run;
use quiescent_core::domain::settings::INLINE;
use quiescent_core::domain::sweep::Until;
use quiescent_core::queue::kind::{self, CODE, OWN, PLAIN};
use quiescent_core::queue::lane::Entry;
use quiescent_core::queue::parcel::Parcel;
use quiescent_core::queue::per_thread::Queue;
use quiescent_core::queue::weight::{self, Owned, UNKNOWN};

/// The batch counts the bytes of each object of at least this size; smaller ones take so few bytes that their
/// number limits the batch.
const LARGE: usize = 512;

/// A retired box, which this crate owns, and what was said of it.
#[derive(Debug)]
pub struct Boxed<T> {
    pub value: NonNull<T>,
    /// Bytes that it owns besides its own size; or [`UNKNOWN`]; or [`UNSAID`], if `on_worker` was said only.
    pub bytes: usize,
    /// A worker reclaims it, and the call that retires it only queues. Then `bytes` is not `UNKNOWN`, so that
    /// one comparison finds out whether anything was said.
    pub on_worker: bool,
}

const UNSAID: usize = UNKNOWN - 1;

impl<T> Boxed<T> {
    /// Nothing is said of it.
    #[inline(always)]
    pub fn new(value: NonNull<T>) -> Boxed<T> {
        Boxed {
            value,
            bytes: UNKNOWN,
            on_worker: false,
        }
    }

    /// It owns so many bytes more.
    #[inline]
    pub fn add_owned(&mut self, bytes: usize) {
        let known = self.known().unwrap_or(0);
        self.bytes = known.saturating_add(bytes).min(UNSAID - 1);
    }

    /// A worker reclaims it.
    #[inline]
    pub fn leave_to_worker(&mut self) {
        self.bytes = self.known().unwrap_or(UNSAID);
        self.on_worker = true;
    }

    /// The bytes that were declared.
    #[inline(always)]
    fn known(&self) -> Option<usize> {
        (self.bytes < UNSAID).then_some(self.bytes)
    }
}

/// The queue to which the calling thread pushes without a lock, if it may.
#[inline(always)]
fn own_queue(domain: &impl Handle, urgency: Urgency) -> Option<&'static Queue> {
    match urgency {
        Urgency::Hurry => None,
        Urgency::Lazy | Urgency::Prompt => domain.own_queue(INSIDE),
    }
}

/// What these functions ask of their caller: no section that opens later can find the object; it is retired
/// once, and no other code frees or changes it.
impl<T: Send + 'static> Boxed<T> {
    /// The lane, the entry and the weight; `None` for a value without memory and without a destructor.
    ///
    /// # Safety
    /// As above.
    #[inline(always)]
    unsafe fn pack(&self) -> Option<(usize, Entry, u64)> {
        let owned = Owned::by::<T>(self.known().unwrap_or(UNKNOWN));
        let bytes = weight::boxed::<T>() as u64 + owned.bytes();
        let object = self.value.as_ptr();
        if needs_drop::<T>() {
            let lane = if self.on_worker { CODE } else { OWN };
            // SAFETY: a box of T, by the caller's promise.
            let entry = unsafe { Entry::new(object.cast(), kind::dropped::<T>(owned)) };
            return Some((lane, entry, bytes));
        }
        // SAFETY: as above.
        (size_of::<T>() != 0).then(|| (PLAIN, unsafe { Entry::plain(object, owned) }, bytes))
    }

    /// Frees the box after a grace period.
    ///
    /// # Safety
    /// As above.
    #[inline(always)]
    pub unsafe fn retire(self, domain: &impl Handle, terms: Terms) {
        match self.bytes {
            // If nothing was said, everything but the pointer is a constant of the type.
            // SAFETY: the caller's promise.
            UNKNOWN => unsafe { Boxed::new(self.value).retire_as(domain, terms) },
            // SAFETY: the caller's promise.
            _ => unsafe {
                Boxed::retire_declared(self.value, self.bytes, self.on_worker, domain, terms)
            },
        }
    }

    /// The same for a value of which something was said. Takes the fields, because a caller keeps them in
    /// registers.
    ///
    /// # Safety
    /// As above.
    #[inline(never)]
    unsafe fn retire_declared(
        value: NonNull<T>,
        bytes: usize,
        on_worker: bool,
        domain: &impl Handle,
        terms: Terms,
    ) {
        let boxed = Boxed {
            value,
            bytes,
            on_worker,
        };
        let terms = Terms {
            hands_off: on_worker,
            ..terms
        };
        // SAFETY: the caller's promise.
        unsafe { boxed.retire_as(domain, terms) };
    }

    /// # Safety
    /// As above.
    #[inline(always)]
    unsafe fn retire_as(self, domain: &impl Handle, terms: Terms) {
        // SAFETY: the caller's promise.
        let Some((lane, entry, bytes)) = (unsafe { self.pack() }) else {
            return;
        };
        let Some(queue) = own_queue(domain, terms.urgency) else {
            let state = domain.core_domain(INSIDE).state();
            return match lane {
                PLAIN => state.deliver(Parcel::Entry(PLAIN, entry, bytes), terms),
                OWN => run::deliver_own(state, entry, bytes, terms),
                _ => state.deliver_code(Parcel::Entry(lane, entry, bytes), terms),
            };
        };
        match (terms.hands_off, lane) {
            // SAFETY: the caller's promise.
            (true, _) => unsafe { enqueue::only(queue, lane, entry, bytes) },
            (false, PLAIN) => {
                let large = size_of::<T>() >= LARGE || self.known().is_some_and(|bytes| bytes != 0);
                // SAFETY: the caller's promise.
                unsafe { enqueue::plain(queue, entry, bytes, large) };
            }
            (false, OWN) => with_local(|local| run::own(local, queue, entry, bytes)),
            (false, _) => enqueue::push_code(queue, CODE, entry, bytes, Urgency::Lazy),
        }
    }

    /// The same, if the budget has room for it. If not, waits for room, for this long.
    ///
    /// # Safety
    /// As above, if it succeeds.
    pub unsafe fn retire_if_room(
        &self,
        domain: &impl Handle,
        wait: Option<Duration>,
    ) -> Result<(), Refusal> {
        let state = domain.core_domain(INSIDE).state();
        if wait.is_some() && state.in_section() {
            return Err(Refusal::CannotWait(SyncError::InsideSection));
        }
        if wait.is_some() && state.in_callback() {
            return Err(Refusal::CannotWait(SyncError::InsideCallback));
        }
        // A thread without a queue of its own has no credit, and takes the lock anyway.
        let is_own = |queue: &Queue| !queue.is_dummy();
        if state.is_easy() && domain.own_queue(INSIDE).is_some_and(is_own) {
            // SAFETY: the caller's promise.
            unsafe { Boxed { ..*self }.retire(domain, Terms::LAZY) };
            return Ok(());
        }
        // SAFETY: the caller's promise.
        let Some((lane, entry, bytes)) = (unsafe { self.pack() }) else {
            return Ok(());
        };
        if lane != PLAIN {
            run::note_code();
        }
        match (state.try_deliver(lane, entry, bytes), wait) {
            (Err(Refusal::Full(_)), Some(limit)) => {
                state.deliver_when_room(lane, entry, bytes, Until::after(limit))
            }
            (result, _) => result,
        }
    }
}

/// Calls a function with an object after a grace period. It is code that the calling thread runs, as a
/// destructor is. `declared`: bytes that the object owns besides its own size, or [`UNKNOWN`].
///
/// # Safety
/// The function may be called once with the object after the grace period, on any thread.
#[inline(always)]
pub(crate) unsafe fn retire_by<T>(
    domain: &impl Handle,
    object: *mut T,
    free: unsafe fn(*mut T),
    declared: usize,
) {
    let whole = Owned::whole::<T>(declared);
    // SAFETY: the caller's promise; queued once.
    let entry = unsafe { Entry::new(object.cast(), kind::given(free, whole)) };
    push_own(domain, entry, weight::ENTRY as u64 + whole.bytes());
}

/// Runs a closure after a grace period, as a destructor.
///
/// # Safety
/// It may be run once after the grace period, on any thread.
#[inline]
pub(crate) unsafe fn defer_unchecked<F: FnOnce()>(domain: &impl Handle, f: F) {
    let (object, what) = kind::called(f, Urgency::Lazy);
    // SAFETY: from `called`, and queued once; the caller's promise.
    let entry = unsafe { Entry::new(object, what) };
    push_own(domain, entry, weight::closure::<F>());
}

/// Queues code that the calling thread runs, lazily.
#[inline(always)]
fn push_own(domain: &impl Handle, entry: Entry, bytes: u64) {
    match own_queue(domain, Urgency::Lazy) {
        Some(queue) => with_local(|local| run::own(local, queue, entry, bytes)),
        None => {
            let state = domain.core_domain(INSIDE).state();
            run::deliver_own(state, entry, bytes, Terms::LAZY);
        }
    }
}

/// Runs a closure after a grace period.
#[inline]
pub(crate) fn defer<F: FnOnce() + Send + 'static>(domain: &impl Handle, f: F, urgency: Urgency) {
    let (object, what) = kind::called(f, urgency);
    // SAFETY: from `called`, and queued once.
    let entry = unsafe { Entry::new(object, what) };
    let bytes = weight::closure::<F>();
    let queue = own_queue(domain, urgency);
    let state = domain.core_domain(INSIDE).state();
    let inline = state.has(INLINE);
    let lane = if inline { OWN } else { CODE };
    match queue {
        None => state.deliver_code(Parcel::Entry(lane, entry, bytes), Terms::of(urgency)),
        Some(queue) if inline => {
            with_local(|local| run::own_call(local, queue, entry, bytes, urgency));
        }
        Some(queue) => enqueue::push_code(queue, CODE, entry, bytes, urgency),
    }
}
