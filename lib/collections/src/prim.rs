//! The primitives: the other modules take atomics and locks from here only, so that a model can replace them.

pub use std::sync::atomic::{
    AtomicBool, AtomicIsize, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
};

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Takes a lock. No code that runs under one of this crate's locks leaves the data in between.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Has the processor load a line that will be read.
#[inline(always)]
pub fn prefetch<T>(address: *const T) {
    prefetch_for::<T, false>(address);
}

/// Has the processor load a line that will be written.
#[inline(always)]
pub fn prefetch_to_write<T>(address: *const T) {
    prefetch_for::<T, true>(address);
}

#[inline(always)]
fn prefetch_for<T, const WRITE: bool>(address: *const T) {
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
    match *spins {
        ..100 => std::hint::spin_loop(),
        _ => std::thread::yield_now(),
    }
}
