//! The primitives: the other modules take atomics and locks from here only. The explorer and loom replace
//! them (`check/models/packages/*-collections`).

#[cfg(quiescent_explorer)]
pub use quiescent_models::explorer::{
    AtomicBool, AtomicIsize, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Mutex, MutexGuard,
    Ordering, at_end, fence, yield_now,
};
#[cfg(quiescent_loom)]
pub use quiescent_models::loom::{
    AtomicBool, AtomicIsize, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Mutex, MutexGuard,
    Ordering, at_end, fence, lazy_static as statics, yield_now,
};
#[cfg(not(quiescent_model))]
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

/// `const fn`, except under loom, whose atomics have no constant constructors.
macro_rules! const_new {
    ($(#[$meta:meta])* $vis:vis fn $($rest:tt)*) => {
        #[cfg(not(quiescent_loom))]
        $(#[$meta])* $vis const fn $($rest)*
        #[cfg(quiescent_loom)]
        $(#[$meta])* $vis fn $($rest)*
    };
}

/// An array of `$n` values of an expression, which is constant except under loom.
macro_rules! array_of {
    ($value:expr; $n:expr) => {{
        #[cfg(not(quiescent_loom))]
        let array = [const { $value }; $n];
        #[cfg(quiescent_loom)]
        let array = std::array::from_fn(|_| $value);
        array
    }};
}

/// Statics; under loom each execution has its own.
#[cfg(not(quiescent_loom))]
macro_rules! statics {
    ($($(#[$meta:meta])* static ref $name:ident: $type:ty = $value:expr;)*) => {
        $($(#[$meta])* static $name: $type = $value;)*
    };
}

#[cfg(not(quiescent_loom))]
pub(crate) use statics;
pub(crate) use {array_of, const_new};

/// Waits for a lock so many times before the thread gives the rest of its time slice away.
#[cfg(not(quiescent_model))]
const SPINS: u32 = 100;
#[cfg(quiescent_model)]
const SPINS: u32 = 1;

/// Objects that a block of counts serves (`arc`), and threads that have a page there: those with lower
/// indexes.
#[cfg(not(quiescent_model))]
pub const COUNTED: (usize, usize) = (512, 1024);
#[cfg(quiescent_model)]
pub const COUNTED: (usize, usize) = (64, 4);

/// So many units of a table are claimed by a writer.
#[cfg(not(quiescent_model))]
pub const STRIDE: usize = 8;
#[cfg(quiescent_model)]
pub const STRIDE: usize = 1;

/// A zeroed value that is never freed; null without memory. `new` makes the same.
///
/// # Safety
/// All zeros is a value of T, and T has a size.
pub unsafe fn zeroed<T: 'static>(new: fn() -> T) -> *mut T {
    // SAFETY: the caller's promise.
    let made = unsafe { alloc_zeroed(Layout::new::<T>()).cast() };
    // SAFETY: as above.
    unsafe { are_zero(made, 1, new) };
    // For ever is until the execution ends.
    #[cfg(quiescent_model)]
    // SAFETY: from the allocator, as a box; then no thread is left that could use it.
    at_end(move || drop(unsafe { Box::<T>::from_raw(made) }));
    made
}

/// So many values are there, of memory that is zero, and that no thread can reach. `new` makes one of them:
/// loom's atomics are more than their bits.
///
/// # Safety
/// There is memory for so many, and all zeros is a value of T.
pub unsafe fn are_zero<T>(_first: *mut T, _count: usize, _new: fn() -> T) {
    #[cfg(quiescent_loom)]
    for at in 0.._count {
        // SAFETY: the caller's promise.
        unsafe { _first.add(at).write(_new()) };
    }
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
    if *spins < SPINS {
        std::hint::spin_loop();
    } else {
        yield_now();
    }
}
