//! [`Guard`]: an open section, and what it defers.

use std::fmt;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

use quiescent::Domain;

use crate::collector::{Collector, default_collector};
use crate::pointer::Pointable;
use crate::shared::Shared;

/// An open section of a collector, or none: [`unprotected`]. The section ends when the guard is dropped, and
/// belongs to its thread.
///
/// ```
/// let guard = quiescent_epoch::pin();
/// guard.defer(|| println!("all guards of before are gone"));
/// ```
/// ```compile_fail,E0277
/// let guard = quiescent_epoch::pin();
/// std::thread::spawn(move || drop(guard)); // stays on its thread
/// ```
pub struct Guard {
    section: Section,
}

enum Section {
    None,
    Process(quiescent::Guard),
    /// The domain is in the second field, which is dropped last.
    Own(quiescent::Guard<&'static Domain>, Collector),
}

/// Orders what a thread did before `pin` with what it loads after it, as users of `pin` expect.
#[inline]
fn opened(section: Section) -> Guard {
    fence(Ordering::SeqCst);
    Guard { section }
}

impl Guard {
    #[inline]
    pub(crate) fn of(collector: &Collector) -> Guard {
        let Some(own) = &collector.0 else {
            return Guard::of_process();
        };
        // SAFETY: the domain is in the memory of an `Arc`, to which the guard has a handle.
        let domain: &'static Domain = unsafe { &(*Arc::as_ptr(own)).0 };
        opened(Section::Own(domain.read_lock(), collector.clone()))
    }

    #[inline]
    pub(crate) fn of_process() -> Guard {
        opened(Section::Process(quiescent::read_lock()))
    }

    /// Runs `f` after a grace period of the guard's collector, on any thread. Under [`unprotected`]: at once.
    pub fn defer<F, R>(&self, f: F)
    where
        F: FnOnce() -> R + Send + 'static,
    {
        // SAFETY: any thread may run it, at any time.
        unsafe { self.defer_unchecked(f) };
    }

    /// As [`defer`](Self::defer), for functions that are not `Send` or not `'static`.
    ///
    /// # Safety
    /// Another thread may run it, after the grace period and as late as the end of the process; and, under
    /// [`unprotected`], it may be run at once.
    #[inline]
    pub unsafe fn defer_unchecked<F, R>(&self, f: F)
    where
        F: FnOnce() -> R,
    {
        let f = move || drop(f());
        match &self.section {
            // SAFETY: the caller's promise.
            Section::Process(_) => unsafe { quiescent::defer_unchecked(f) },
            // SAFETY: the caller's promise.
            Section::Own(section, _) => unsafe { section.domain().defer_unchecked(f) },
            Section::None => f(),
        }
    }

    /// Drops an object after a grace period of the guard's collector. Under [`unprotected`]: at once.
    ///
    /// # Safety
    /// Not null; no guard that is opened later can find the object; and it is not deferred twice. Any thread
    /// may drop it, as late as the end of the process.
    #[inline]
    pub unsafe fn defer_destroy<T: ?Sized + Pointable>(&self, ptr: Shared<'_, T>) {
        // SAFETY: the caller's promise.
        unsafe { self.defer_unchecked(move || ptr.into_owned()) };
    }

    /// Hurries what was deferred in this collector, and runs what is ready: at most 512 functions, in this
    /// thread. It does not wait, and need not be called: what is deferred runs in bounded time.
    pub fn flush(&self) {
        match &self.section {
            Section::Process(_) => quiescent::defer_hurry(|| ()), // with what was queued before
            Section::Own(section, _) => section.domain().defer_hurry(|| ()),
            Section::None => return,
        }
        self.collector()
            .iter()
            .for_each(|collector| collector.run_ready());
    }

    /// Ends the section and opens a new one, if a grace period waits for this thread and the thread has no
    /// other guard of this collector.
    #[inline]
    pub fn repin(&mut self) {
        match &mut self.section {
            Section::Process(section) => section.repin(),
            Section::Own(section, _) => section.repin(),
            Section::None => (),
        }
    }

    /// Runs `f` with the section ended (unless the thread has another guard of this collector), then opens a
    /// new one; also if `f` panics.
    ///
    /// ```
    /// let mut guard = quiescent_epoch::pin();
    /// assert!(!guard.repin_after(quiescent_epoch::is_pinned));
    /// assert!(quiescent_epoch::is_pinned());
    /// ```
    pub fn repin_after<F, R>(&mut self, f: F) -> R
    where
        F: FnOnce() -> R,
    {
        struct Reopen<'a>(&'a mut Guard, Option<Collector>);

        impl Drop for Reopen<'_> {
            fn drop(&mut self) {
                if let Some(collector) = &self.1 {
                    *self.0 = Guard::of(collector);
                }
            }
        }

        let collector = self.collector().cloned();
        drop(mem::replace(&mut self.section, Section::None));
        let _reopen = Reopen(self, collector);
        f()
    }

    /// The collector, to see that a structure's guards are of the collector of the structure; `None` for
    /// [`unprotected`].
    #[inline]
    pub fn collector(&self) -> Option<&Collector> {
        match &self.section {
            Section::Process(_) => Some(default_collector()),
            Section::Own(_, collector) => Some(collector),
            Section::None => None,
        }
    }
}

/// The end of a thread's outermost guard frees what is ready.
#[cfg(feature = "drain")]
impl Drop for Guard {
    fn drop(&mut self) {
        let collector = self.collector().cloned();
        drop(mem::replace(&mut self.section, Section::None));
        if let Some(collector) = collector.filter(|it| !it.is_pinned()) {
            collector.run_ready();
        }
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("Guard { .. }")
    }
}

/// A guard without a section: for structures that no other thread knows, as while they are made and dropped.
/// What is deferred with it runs at once.
///
/// # Safety
/// No other thread uses what is loaded, stored or deferred with it.
///
/// ```
/// use quiescent_epoch::{Atomic, unprotected};
/// use std::sync::atomic::Ordering::Relaxed;
///
/// let atomic = Atomic::new(5);
/// // SAFETY: no other thread knows it.
/// unsafe {
///     let guard = unprotected();
///     guard.defer_destroy(atomic.load(Relaxed, guard)); // drops it now
/// }
/// ```
#[inline]
pub unsafe fn unprotected() -> &'static Guard {
    struct Shared(Guard);
    // SAFETY: a guard without a section has no state.
    unsafe impl Sync for Shared {}
    static NONE: Shared = Shared(Guard {
        section: Section::None,
    });
    &NONE.0
}
