//! [`Collector`]: a domain for guards that stay on their threads, and one for those that may be sent.

use std::fmt;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::time::Duration;

use quiescent::{Domain, Srcu};

use crate::guard::{LocalGuard, OwnedGuard};
use crate::reclaim;

/// What one [`flush`](crate::Guard::flush) runs at most.
const MOST: u64 = 512;

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
}

impl Collector {
    /// Makes a collector.
    pub fn new() -> Collector {
        let (local, sent, sends) = (Domain::new(), Srcu::new(), AtomicBool::new(false));
        Collector {
            places: Arc::new(Places { local, sent, sends }),
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
            collector: self,
        }
    }

    /// Opens a section that may end on another thread.
    pub fn enter_owned(&self) -> OwnedGuard<'_> {
        self.places.sends.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst); // with that of `retire`
        OwnedGuard {
            section: self.places.sent.read_lock_send(),
            collector: self,
        }
    }

    /// Calls `reclaim` after a grace period.
    ///
    /// # Safety
    /// * No guard that is opened later can find the object. Guards that are open may continue to use it.
    /// * Once they are gone, `reclaim(ptr, collector)` is sound: one time, on any thread, and as late as the
    ///   end of this collector.
    #[inline]
    pub unsafe fn retire<T>(&self, ptr: *mut T, reclaim: unsafe fn(*mut T, &Collector)) {
        // Either this sees that there are owned guards, or their threads see that the object is unlinked.
        fence(Ordering::SeqCst);
        // Which function it is, is known where this is inlined. One that has the address has the same code.
        let boxed: unsafe fn(*mut T, &Collector) = reclaim::boxed;
        if ptr::fn_addr_eq(reclaim, boxed) && !self.places.sends.load(Ordering::Relaxed) {
            // SAFETY: the caller's promise.
            unsafe { self.places.local.retire(ptr, unbox) };
        } else {
            // SAFETY: the caller's promise.
            unsafe { self.retire_with_collector(ptr, reclaim) };
        }
    }

    #[cold]
    #[inline(never)]
    unsafe fn retire_with_collector<T>(&self, ptr: *mut T, free: unsafe fn(*mut T, &Collector)) {
        let sends = self.places.sends.load(Ordering::Relaxed);
        let this = Collector {
            places: self.places.clone(),
            frees_when_dropped: false,
        };
        // SAFETY: the caller's promise; if there were owned guards, also after a grace period of theirs.
        let last = move |this: Collector| unsafe { free(ptr, &this) };
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

    /// Reclaims at once what was retired, and what is retired by that.
    ///
    /// # Safety
    /// No guard of this collector protects a pointer that is used again.
    pub unsafe fn reclaim_all(&self) {
        let Places { local, sent, .. } = &*self.places;
        // SAFETY: the caller's promise.
        while unsafe { local.free_now_unchecked().ran + sent.free_now_unchecked().ran } > 0 {}
    }

    pub(crate) fn flush(&self) {
        self.places.local.defer_hurry(|| ()); // with what was queued before
        self.places.local.drain_ready(MOST, Duration::MAX);
        if self.places.sends.load(Ordering::Relaxed) {
            self.places.sent.defer_hurry(|| ());
            self.places.sent.drain_ready(MOST, Duration::MAX);
        }
    }
}

/// # Safety
/// From `Box::into_raw`.
unsafe fn unbox<T>(ptr: *mut T) {
    // SAFETY: the caller's promise.
    drop(unsafe { Box::from_raw(ptr) });
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
