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
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch of any address has no effect but on caches.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// Has the processor load a line that will be written.
#[inline(always)]
pub fn prefetch_to_write<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: as above.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_ET0 }>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// How a thread waits for a lock that is held for a few instructions.
#[derive(Default)]
pub struct Backoff(u32);

impl Backoff {
    /// The next wait: a pause of the processor, later the rest of the thread's time slice.
    pub fn wait(&mut self) {
        self.0 += 1;
        if self.0 < 100 {
            std::hint::spin_loop();
        } else {
            std::thread::yield_now();
        }
    }
}
