//! The primitives: the other modules take atomics and locks from here only. The explorer replaces them
//! (`check/models/packages/explorer-collections`).

#[cfg(quiescent_explorer)]
pub use quiescent_models::explorer::{
    AtomicBool, AtomicIsize, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Mutex, MutexGuard,
    Ordering, fence, yield_now,
};
#[cfg(not(quiescent_explorer))]
pub use std::{
    sync::atomic::{
        AtomicBool, AtomicIsize, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
    },
    sync::{Mutex, MutexGuard},
    thread::yield_now,
};

use std::alloc::{Layout, alloc_zeroed};
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::PoisonError;

/// Waits for a lock so many times before the thread gives the rest of its time slice away.
#[cfg(not(quiescent_explorer))]
const SPINS: u32 = 100;
#[cfg(quiescent_explorer)]
const SPINS: u32 = 1;

/// Objects that a block of counts serves (`arc`), and threads that have a page there: those with lower
/// indexes.
#[cfg(not(quiescent_explorer))]
pub const COUNTED: (usize, usize) = (512, 1024);
#[cfg(quiescent_explorer)]
pub const COUNTED: (usize, usize) = (64, 4);

/// A zeroed value that is never freed; null without memory.
///
/// # Safety
/// All zeros is a value of T, and T has a size.
pub unsafe fn zeroed<T: 'static>() -> *mut T {
    // SAFETY: the caller's promise.
    let made = unsafe { alloc_zeroed(Layout::new::<T>()).cast() };
    // For ever is until the execution ends.
    #[cfg(quiescent_explorer)]
    // SAFETY: from the allocator, as a box; then no thread is left that could use it.
    quiescent_models::explorer::at_end(move || drop(unsafe { Box::<T>::from_raw(made) }));
    made
}

/// A box whose content other threads read. (A box itself may not be moved meanwhile: moving it says that it
/// is the only way to its content.)
pub struct Shared<T: ?Sized>(NonNull<T>);

// SAFETY: as a box, and as a reference.
unsafe impl<T: Send + Sync + ?Sized> Send for Shared<T> {}

impl<T: ?Sized> Shared<T> {
    /// # Safety
    /// From a box, and the caller gives it away.
    pub unsafe fn from_raw(content: *mut T) -> Shared<T> {
        Shared(NonNull::new(content).expect("not null"))
    }
}

impl<T: ?Sized> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: from a box, which is dropped with `self`.
        unsafe { self.0.as_ref() }
    }
}

impl<T: ?Sized> Drop for Shared<T> {
    fn drop(&mut self) {
        // SAFETY: from a box; who drops it knows that no thread reads it.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

/// Takes a lock. No code that runs under one of this crate's locks leaves the data in between.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Has the processor load a line that will be read.
#[inline(always)]
pub fn prefetch<T: ?Sized>(address: *const T) {
    prefetch_for::<T, false>(address);
}

/// Has the processor load a line that will be written.
#[inline(always)]
pub fn prefetch_to_write<T>(address: *const T) {
    prefetch_for::<T, true>(address);
}

#[inline(always)]
fn prefetch_for<T: ?Sized, const WRITE: bool>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch of any address has no effect but on caches.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_ET0, _MM_HINT_T0, _mm_prefetch};
        match WRITE {
            true => _mm_prefetch::<_MM_HINT_ET0>(address.cast()),
            false => _mm_prefetch::<_MM_HINT_T0>(address.cast()),
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// How a thread waits for a lock that is held for a few instructions: a pause of the processor, later the
/// rest of the thread's time slice.
pub fn wait(spins: &mut u32) {
    *spins += 1;
    if *spins < SPINS {
        std::hint::spin_loop();
    } else {
        yield_now();
    }
}
