//! [`Collector`]: a domain for guards that stay on their threads, and one for those that may be sent.

use std::cell::Cell;
use std::fmt;
use std::mem;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::time::Duration;

use quiescent::{Domain, Runner, Srcu};

use crate::guard::{LocalGuard, OwnedGuard, Reclaims};
use crate::reclaim;

/// Ends of guards, and calls that retire without one, between two looks at what is ready: at least, and how
/// many more there may be.
const BETWEEN: (u32, u32) = (32, 64);

thread_local! {
    /// This thread is in a call that reclaims: what it runs now is of that call's collector.
    static RECLAIMS: Cell<bool> = const { Cell::new(false) };
    /// How many more calls until the next look, and a number that changes with each. (Not a fixed number of
    /// calls: a thread that uses several collectors by turns would look at the same one each time.)
    static LEFT: Cell<(u32, u32)> = const { Cell::new((BETWEEN.0, 0)) };
}

/// What frees the objects of a structure, or of several.
///
/// ```
/// use quiescent_seize::{Collector, Guard};
///
/// let (one, other) = (Collector::new().batch_size(64), Collector::default());
/// assert!(one == one && one != other);
/// assert_eq!(one.enter().collector(), &one);
/// assert_eq!(other.enter_owned().collector(), &other);
/// ```
pub struct Collector {
    places: Arc<Places>,
    /// Not so for what a `reclaim` function gets.
    frees_when_dropped: bool,
}

struct Places {
    local: Domain,
    sent: Srcu,
    /// Guards of `sent` were opened.
    sends: AtomicBool,
    /// Something may be queued.
    holds: AtomicBool,
}

impl Collector {
    /// Makes a collector.
    pub fn new() -> Collector {
        let places = Places {
            local: Domain::new(),
            sent: Srcu::new(),
            sends: AtomicBool::new(false),
            holds: AtomicBool::new(false),
        };
        // A structure vouches for the threads that call its collector, and for as long as it is there.
        places.local.set_destructors(Runner::Drained);
        places.sent.set_destructors(Runner::Drained);
        Collector {
            places: Arc::new(places),
            frees_when_dropped: true,
        }
    }

    /// Does nothing: the library chooses its batches.
    pub fn batch_size(self, _: usize) -> Self {
        self
    }

    /// Opens a section for this thread. Never waits, never fails. Sections nest.
    #[inline]
    pub fn enter(&self) -> LocalGuard<'_> {
        LocalGuard {
            section: self.places.local.read_lock(),
            collector: Reclaims(self),
        }
    }

    /// Opens a section that may end on another thread.
    pub fn enter_owned(&self) -> OwnedGuard<'_> {
        self.places.sends.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst); // with that of `retire`
        OwnedGuard {
            section: self.places.sent.read_lock_send(),
            collector: Reclaims(self),
        }
    }

    /// Calls `reclaim` after a grace period.
    ///
    /// # Safety
    /// * No guard that is opened later can find the object. Guards that are open may continue to use it.
    /// * Once they are gone, `reclaim(ptr, collector)` is sound: one time, in a call of this collector or its
    ///   guards on any thread that may make one, and as late as the end of this collector.
    #[inline]
    pub unsafe fn retire<T>(&self, ptr: *mut T, reclaim: unsafe fn(*mut T, &Collector)) {
        // SAFETY: the caller's promise.
        unsafe { self.queue(ptr, reclaim) };
        self.look(false);
    }

    /// # Safety
    /// As [`retire`](Self::retire).
    #[inline]
    pub(crate) unsafe fn queue<T>(&self, ptr: *mut T, reclaim: unsafe fn(*mut T, &Collector)) {
        // Either this sees that there are owned guards, or their threads see that the object is unlinked.
        fence(Ordering::SeqCst);
        // Which function it is, is known where this is inlined. One that has the address has the same code.
        let boxed: unsafe fn(*mut T, &Collector) = reclaim::boxed;
        if ptr::fn_addr_eq(reclaim, boxed) && !self.places.sends.load(Ordering::Relaxed) {
            // SAFETY: the caller's promise.
            unsafe { self.places.local.retire(ptr, unbox) };
        } else {
            // SAFETY: the caller's promise.
            unsafe { self.queue_with_collector(ptr, reclaim) };
        }
        if !self.places.holds.load(Ordering::Relaxed) {
            self.places.holds.store(true, Ordering::Relaxed);
        }
    }

    #[cold]
    #[inline(never)]
    unsafe fn queue_with_collector<T>(&self, ptr: *mut T, free: unsafe fn(*mut T, &Collector)) {
        let sends = self.places.sends.load(Ordering::Relaxed);
        let this = Collector {
            places: self.places.clone(),
            frees_when_dropped: false,
        };
        let last = move |this: Collector| match RECLAIMS.get() {
            // SAFETY: the caller's promise; if there were owned guards, also after a grace period of theirs.
            true => unsafe { free(ptr, &this) },
            false => mem::forget(this), // as in `unbox`
        };
        let first = move || {
            if !sends {
                return last(this);
            }
            let places = this.places.clone();
            // SAFETY: the caller's promise.
            unsafe { places.sent.defer_unchecked(move || last(this)) };
            places.sent.defer(|| ()); // it has waited long enough: prompt, with what was queued before
        };
        // SAFETY: the caller's promise.
        unsafe { self.places.local.defer_unchecked(first) };
    }

    /// The end of a guard, or a call without one: reclaims what is ready, now and then. In a section of this
    /// thread only if that is `allowed`: a structure may be in the middle of a change there.
    #[inline]
    pub(crate) fn look(&self, allowed: bool) {
        if self.places.holds.load(Ordering::Relaxed) {
            let (left, number) = LEFT.get();
            LEFT.set((left.wrapping_sub(1), number));
            if left == 0 {
                self.look_now(number, allowed);
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn look_now(&self, number: u32, allowed: bool) {
        let number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        LEFT.set((BETWEEN.0 + (number >> 16) % BETWEEN.1, number));
        if allowed || !self.places.local.in_section() {
            self.reclaim_ready();
        }
    }

    fn reclaim_ready(&self) {
        let places = &*self.places;
        places.holds.store(false, Ordering::Relaxed);
        let mut left = reclaiming(|| places.local.drain_ready(u64::MAX, Duration::MAX).left);
        if places.sends.load(Ordering::Relaxed) {
            left += reclaiming(|| places.sent.drain_ready(u64::MAX, Duration::MAX).left);
        }
        if left > 0 {
            places.holds.store(true, Ordering::Relaxed);
        }
    }

    /// Reclaims at once what was retired, and what is retired by that.
    ///
    /// # Safety
    /// No guard of this collector protects a pointer that is used again.
    pub unsafe fn reclaim_all(&self) {
        let Places { local, sent, .. } = &*self.places;
        // SAFETY: the caller's promise.
        let pass = || unsafe { local.free_now_unchecked().ran + sent.free_now_unchecked().ran };
        while reclaiming(pass) > 0 {}
    }

    pub(crate) fn flush(&self) {
        self.places.local.defer_hurry(|| ()); // with what was queued before
        if self.places.sends.load(Ordering::Relaxed) {
            self.places.sent.defer_hurry(|| ());
        }
        self.reclaim_ready();
    }
}

/// Marks the thread meanwhile.
fn reclaiming<R>(call: impl FnOnce() -> R) -> R {
    let before = RECLAIMS.replace(true);
    let result = call(); // it contains panics
    RECLAIMS.set(before);
    result
}

/// # Safety
/// From `Box::into_raw`.
unsafe fn unbox<T>(ptr: *mut T) {
    // Another thread (`shutdown`, or a worker that was busy with an earlier owner of the domain) may neither
    // run its destructor nor wait for a call that may: it is leaked.
    if RECLAIMS.get() {
        // SAFETY: the caller's promise.
        drop(unsafe { Box::from_raw(ptr) });
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        if self.frees_when_dropped {
            // SAFETY: guards borrow their collector.
            unsafe { self.reclaim_all() };
        }
    }
}

impl Default for Collector {
    fn default() -> Self {
        Collector::new()
    }
}

/// The same one, not one that is equal.
impl PartialEq for Collector {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.places, &other.places)
    }
}

impl Eq for Collector {}

impl fmt::Debug for Collector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("Collector { .. }")
    }
}
