//! The library's lock where the system has a futex: a word and a sleep on it.
//!
//! Unlike the standard library's it has no poison (each caller ignored that), and each of its halves is one
//! function, not a copy at each place. After a fork it is as that one: the thread that forked holds in the
//! child what it held, and releases it there; the sleepers do not exist there, and to wake them wakes no thread.

use super::{AtomicU32, Ordering, futex_wait, futex_wake};

/// Free; taken; taken, and there may be sleepers.
pub const FREE: u32 = 0;
const TAKEN: u32 = 1;
const WANTED: u32 = 2;

/// Looks before the sleep.
const SPINS: u32 = 100;

/// Takes the lock that has this word, if it is free.
#[inline(always)]
pub fn try_take(word: &AtomicU32) -> bool {
    let order = (Ordering::Acquire, Ordering::Relaxed); // [LOCK-1]
    (word.compare_exchange(FREE, TAKEN, order.0, order.1)).is_ok()
}

/// Takes the lock that has this word.
#[inline(always)]
pub fn take(word: &AtomicU32) {
    if !try_take(word) {
        wait(word);
    }
}

#[cold]
#[inline(never)]
fn wait(word: &AtomicU32) {
    for _ in 0..if cfg!(quiescent_model) { 0 } else { SPINS } {
        if word.load(Ordering::Relaxed) != TAKEN {
            break;
        }
        std::hint::spin_loop();
    }
    // The word tells the holder to wake a sleeper before this thread sleeps; the system compares it once more.
    // Who takes the lock here leaves it so, because there may be other sleepers. [LOCK-1] [LOCK-2]
    while word.swap(WANTED, Ordering::Acquire) != FREE {
        futex_wait(word, WANTED, None);
    }
}

/// Releases it.
#[inline(always)]
pub fn release(word: &AtomicU32) {
    let before = word.swap(FREE, Ordering::Release); // [LOCK-1] [LOCK-2]
    if before == WANTED {
        futex_wake(word);
    }
}

#[cfg(not(quiescent_model))]
pub use product::{Mutex, MutexGuard};

#[cfg(not(quiescent_model))]
mod product {
    use std::cell::UnsafeCell;
    use std::fmt;
    use std::marker::PhantomData;
    use std::ops::{Deref, DerefMut};
    use std::sync::{LockResult, TryLockError, TryLockResult};

    use super::{AtomicU32, FREE};

    /// A lock.
    pub struct Mutex<T> {
        word: AtomicU32,
        value: UnsafeCell<T>,
    }

    // SAFETY: one thread at a time has access.
    unsafe impl<T: Send> Sync for Mutex<T> {}

    impl<T> fmt::Debug for Mutex<T> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("Mutex")
        }
    }

    impl<T> Mutex<T> {
        pub const fn new(value: T) -> Mutex<T> {
            Mutex {
                word: AtomicU32::new(FREE),
                value: UnsafeCell::new(value),
            }
        }

        /// Waits for it. Never an error.
        #[inline]
        pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
            take(&self.word);
            Ok(MutexGuard(self, PhantomData))
        }

        /// Takes it if it is free.
        #[inline]
        pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
            match super::try_take(&self.word) {
                true => Ok(MutexGuard(self, PhantomData)),
                false => Err(TryLockError::WouldBlock),
            }
        }
    }

    // Not Rust's calling convention: other crates then know that these two do not unwind.
    #[inline(never)]
    extern "C" fn take(word: &AtomicU32) {
        super::take(word);
    }

    #[inline(never)]
    extern "C" fn release(word: &AtomicU32) {
        super::release(word);
    }

    /// Releases the lock when it is dropped. It stays on its thread.
    pub struct MutexGuard<'a, T>(&'a Mutex<T>, PhantomData<*const ()>);

    // SAFETY: it shows the value only.
    unsafe impl<T: Sync> Sync for MutexGuard<'_, T> {}

    impl<T> fmt::Debug for MutexGuard<'_, T> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("MutexGuard")
        }
    }

    impl<T> Deref for MutexGuard<'_, T> {
        type Target = T;

        #[inline]
        fn deref(&self) -> &T {
            // SAFETY: this thread has the lock.
            unsafe { &*self.0.value.get() }
        }
    }

    impl<T> DerefMut for MutexGuard<'_, T> {
        #[inline]
        fn deref_mut(&mut self) -> &mut T {
            // SAFETY: this thread has the lock.
            unsafe { &mut *self.0.value.get() }
        }
    }

    impl<T> Drop for MutexGuard<'_, T> {
        #[inline]
        fn drop(&mut self) {
            release(&self.0.word);
        }
    }
}
