//! [`Guard`]s: sections of a collector.

use std::fmt;
use std::sync::atomic::{AtomicPtr, Ordering};

use quiescent::{Domain, Sendable, Srcu};

use crate::collector::Collector;

/// An open section of a [`Collector`]: what is loaded while it is open is not reclaimed before it ends.
///
/// ```
/// use quiescent_seize::{Collector, Guard};
/// use std::sync::atomic::{AtomicPtr, Ordering::SeqCst};
///
/// let collector = Collector::new();
/// let (one, two) = (&mut 1, &mut 2);
/// let link = AtomicPtr::new(std::ptr::from_mut(one));
/// let mut guard = collector.enter();
/// let old = guard.protect(&link, SeqCst);
/// assert_eq!(guard.compare_exchange(&link, old, two, SeqCst, SeqCst), Ok(old));
/// assert!(guard.compare_exchange_weak(&link, old, two, SeqCst, SeqCst).is_err());
/// assert_eq!(guard.thread_id(), collector.enter_owned().thread_id());
/// guard.refresh(); // a new section
/// guard.flush(); // what was retired is reclaimed soon
/// ```
pub trait Guard {
    /// Ends the section and opens a new one, unless another guard of this thread keeps it open.
    fn refresh(&mut self);

    /// The collector, to see that a structure's guards are of its own.
    fn collector(&self) -> &Collector;

    /// Hurries what was retired in this collector, and reclaims what is ready. It does not wait.
    fn flush(&self) {
        self.collector().flush();
    }

    /// A number that this thread has, and no other living one: [`quiescent::thread_index`]. Where there is
    /// none, larger than any of these.
    fn thread_id(&self) -> usize {
        thread_local!(static PLACE: u8 = const { 0 });
        let place = || PLACE.with(|place| std::ptr::from_ref(place).addr());
        quiescent::thread_index().unwrap_or_else(place)
    }

    /// Loads a pointer, with `SeqCst`, whatever the ordering says; so do the next three.
    #[inline]
    fn protect<T>(&self, ptr: &AtomicPtr<T>, _: Ordering) -> *mut T {
        ptr.load(Ordering::SeqCst)
    }

    /// Stores a pointer, and returns the previous one.
    #[inline]
    fn swap<T>(&self, ptr: &AtomicPtr<T>, value: *mut T, _: Ordering) -> *mut T {
        ptr.swap(value, Ordering::SeqCst)
    }

    /// [`AtomicPtr::compare_exchange`].
    ///
    /// # Errors
    /// The pointer is another one, which is returned.
    #[inline]
    fn compare_exchange<T>(
        &self,
        ptr: &AtomicPtr<T>,
        current: *mut T,
        new: *mut T,
        _success: Ordering,
        _failure: Ordering,
    ) -> Result<*mut T, *mut T> {
        ptr.compare_exchange(current, new, Ordering::SeqCst, Ordering::SeqCst)
    }

    /// [`AtomicPtr::compare_exchange_weak`].
    ///
    /// # Errors
    /// As [`compare_exchange`](Self::compare_exchange); or it was not stored.
    #[inline]
    fn compare_exchange_weak<T>(
        &self,
        ptr: &AtomicPtr<T>,
        current: *mut T,
        new: *mut T,
        _success: Ordering,
        _failure: Ordering,
    ) -> Result<*mut T, *mut T> {
        ptr.compare_exchange_weak(current, new, Ordering::SeqCst, Ordering::SeqCst)
    }

    /// [`Collector::retire`].
    ///
    /// # Safety
    /// As there.
    #[inline]
    unsafe fn defer_retire<T>(&self, ptr: *mut T, reclaim: unsafe fn(*mut T, &Collector)) {
        // SAFETY: the caller's promise.
        unsafe { self.collector().retire(ptr, reclaim) };
    }
}

/// The last field of a guard: looks at what is ready when the section has ended.
pub(crate) struct Reclaims<'a>(pub &'a Collector);

impl Drop for Reclaims<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.look(false);
    }
}

/// A guard that stays on its thread.
///
/// ```compile_fail,E0277
/// let collector = quiescent_seize::Collector::new();
/// let guard = collector.enter();
/// std::thread::scope(|scope| drop(scope.spawn(|| drop(guard))));
/// ```
pub struct LocalGuard<'a> {
    pub(crate) section: quiescent::Guard<&'a Domain>,
    pub(crate) collector: Reclaims<'a>,
}

impl Guard for LocalGuard<'_> {
    #[inline]
    fn refresh(&mut self) {
        self.section.repin();
        self.collector.0.look(true);
    }

    #[inline]
    fn collector(&self) -> &Collector {
        self.collector.0
    }
}

impl fmt::Debug for LocalGuard<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("LocalGuard")
    }
}

/// A guard that may be sent: for iterators that cross an `await`.
///
/// ```
/// let collector = quiescent_seize::Collector::new();
/// let guard = collector.enter_owned();
/// std::thread::scope(|scope| drop(scope.spawn(|| drop(guard))));
/// ```
pub struct OwnedGuard<'a> {
    pub(crate) section: quiescent::Guard<Sendable<&'a Srcu>>,
    pub(crate) collector: Reclaims<'a>,
}

impl Guard for OwnedGuard<'_> {
    fn refresh(&mut self) {
        self.section.repin();
        self.collector.0.look(true);
    }

    fn collector(&self) -> &Collector {
        self.collector.0
    }
}
