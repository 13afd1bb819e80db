//! The real primitives: the CPU's atomics, and the [system's](crate::os) fence of the process, sleep on a
//! word, clocks and memory.

pub use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
#[cfg(all(
    not(quiescent_tsan),
    any(quiescent_portable, miri, not(target_os = "linux"))
))]
pub use std::sync::{Mutex, MutexGuard};

use std::cell::UnsafeCell;
use std::sync::PoisonError;

#[cfg(all(
    target_os = "linux",
    not(any(quiescent_tsan, quiescent_portable, miri))
))]
pub use super::lock::{Mutex, MutexGuard};
#[cfg(quiescent_tsan)]
pub use super::tsan::{Mutex, MutexGuard};
pub use crate::os::{
    coarse_ns, doze, futex_wait, futex_wake, futex_wake_all, heavy_fence, map, now_ns, of_thread,
    register_heavy_fence, resident, thread_id, thread_name, unmap,
};
use crate::prim::arena;

/// The library can have threads of its own.
pub const THREADS: bool = crate::os::HAS.threads;

/// Prevents the compiler from moving memory accesses across; emits no instruction.
#[inline(always)]
pub fn light_fence() {
    std::sync::atomic::compiler_fence(Ordering::SeqCst);
}

/// A full fence on this CPU: `fence(SeqCst)`.
///
/// On x86-64 a locked addition of 0 to the top of the stack, which orders all accesses to ordinary memory as
/// `mfence` does, in half the time (the compiler chooses `mfence`).
#[inline(always)]
pub fn full_fence() {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: does not change the stack's top word; the flags are declared clobbered by default.
    unsafe {
        std::arch::asm!("lock add dword ptr [rsp], 0");
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    std::sync::atomic::fence(Ordering::SeqCst);
}

/// Stores with release, then executes a full fence. On x86-64 one instruction.
#[inline(always)]
pub fn store_and_fence(place: &AtomicU64, value: u64) {
    if cfg!(all(target_arch = "x86_64", not(miri))) {
        place.swap(value, Ordering::SeqCst); // `xchg`: locked, which orders all accesses around it
    } else {
        place.store(value, Ordering::Release);
        full_fence();
    }
}

/// Executes `times` pause instructions.
pub fn spin(times: u32) {
    for _ in 0..times {
        std::hint::spin_loop();
    }
}

/// `count` permanent values; `None` without memory. Uses no allocator: see [`arena`].
///
/// # Safety
/// `new` returns a value whose bytes are all zero.
pub unsafe fn zeroes<T>(count: usize, new: impl Fn() -> T) -> Option<*mut T> {
    let _ = new; // used by models only
    const { assert!(align_of::<T>() <= arena::ALIGN) };
    let memory = arena::zeroed(count.checked_mul(size_of::<T>())?)?;
    Some(memory.cast().as_ptr())
}

/// A lock whose value one thread at a time may change. The child of a fork can recreate it, since its holder
/// does not exist there.
#[derive(Debug)]
pub struct RenewableLock<T>(UnsafeCell<Mutex<T>>);

// SAFETY: a mutex, except while `renew` has exclusive access.
unsafe impl<T: Send> Sync for RenewableLock<T> {}

impl<T> RenewableLock<T> {
    pub const fn new(value: T) -> RenewableLock<T> {
        RenewableLock(UnsafeCell::new(Mutex::new(value)))
    }

    fn mutex(&self) -> &Mutex<T> {
        // SAFETY: only `renew` changes the cell, while there is no other thread and no guard.
        unsafe { &*self.0.get() }
    }

    /// Waits for the lock.
    pub fn take(&self) -> MutexGuard<'_, T> {
        self.mutex().lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the lock, if it is free.
    pub fn try_take(&self) -> Option<MutexGuard<'_, T>> {
        self.mutex().try_lock().ok()
    }

    /// Recreates it, unlocked.
    ///
    /// # Safety
    /// The calling thread is the only one of the process, and has no guard of this.
    pub unsafe fn renew(&self)
    where
        T: Default,
    {
        // SAFETY: the caller's promise: there is no other access.
        unsafe { self.0.get().write(Mutex::new(T::default())) };
    }
}
