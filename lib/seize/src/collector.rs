//! [`Collector`]: a domain for guards that stay on their threads, and one for those that may be sent.

use std::cell::Cell;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::time::Duration;

use quiescent::{Domain, Runner, Srcu};

use crate::guard::{LocalGuard, OwnedGuard, Reclaims};

/// Of so many calls that retire or end a guard, one looks at what is ready. A prime: a thread that uses
/// several collectors by turns looks at each.
const EVERY: u32 = 127;

thread_local! {
    /// This thread is in a call that reclaims: what it runs now is of that call's collector.
    static RECLAIMS: Cell<bool> = const { Cell::new(false) };
    /// Calls of this thread until its next look.
    static LEFT: Cell<u32> = const { Cell::new(EVERY) };
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

#[derive(Default)]
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
        let places = Places::default();
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
        // Either this sees that there are owned guards, or their threads see that the object is unlinked.
        fence(Ordering::SeqCst);
        // Which function it is, is known where this is inlined. One that has the address has the same code.
        let boxed: unsafe fn(*mut T, &Collector) = crate::reclaim::boxed;
        if std::ptr::fn_addr_eq(reclaim, boxed) && !self.places.sends.load(Ordering::Relaxed) {
            // SAFETY: the caller's promise.
            unsafe { self.places.local.retire(ptr, unbox) };
        } else {
            // SAFETY: the caller's promise.
            unsafe { self.retire_with_collector(ptr, reclaim) };
        }
        if !self.places.holds.load(Ordering::Relaxed) {
            self.places.holds.store(true, Ordering::Relaxed);
        }
        self.look(false);
    }

    #[cold]
    #[inline(never)]
    unsafe fn retire_with_collector<T>(&self, ptr: *mut T, free: unsafe fn(*mut T, &Collector)) {
        let sends = self.places.sends.load(Ordering::Relaxed);
        let this = Collector {
            places: self.places.clone(),
            frees_when_dropped: false,
        };
        let last = move |this: Collector| match RECLAIMS.get() {
            // SAFETY: the caller's promise; if there were owned guards, also after a grace period of theirs.
            true => unsafe { free(ptr, &this) },
            false => std::mem::forget(this), // as in `unbox`
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

    /// A call in which this thread may reclaim: does so now and then.
    #[inline]
    pub(crate) fn look(&self, in_sections: bool) {
        if self.places.holds.load(Ordering::Relaxed) {
            LEFT.set(LEFT.get() - 1);
            if LEFT.get() == 0 {
                self.reclaim_ready(in_sections);
            }
        }
    }

    /// Unless asked for, not in a section of this thread: a structure may be in the middle of a change there.
    #[cold]
    #[inline(never)]
    fn reclaim_ready(&self, in_sections: bool) {
        LEFT.set(EVERY); // also in a section: else the same collector's turn would come each time
        let places = &*self.places;
        if !in_sections && places.local.in_section() {
            return;
        }
        places.holds.store(false, Ordering::Relaxed);
        let mut left = reclaiming(|| places.local.drain_ready(u64::MAX, Duration::MAX).left);
        if places.sends.load(Ordering::Relaxed) {
            left += reclaiming(|| places.sent.drain_ready(u64::MAX, Duration::MAX).left);
        }
        places.holds.fetch_or(left > 0, Ordering::Relaxed);
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
        self.reclaim_ready(true);
    }
}

/// Marks the thread meanwhile.
fn reclaiming<R>(call: impl FnOnce() -> R) -> R {
    let (before, result) = (RECLAIMS.replace(true), call()); // which contains panics
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
