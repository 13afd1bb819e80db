//! Parts that the models share: memory that lasts as long as an execution, clocks, a lock.

use std::alloc::{Layout, dealloc};

/// Largest number of threads of a scenario.
const MOST_THREADS: usize = 5;

/// Keeps the value until the end of the execution, which a model treats as forever.
pub fn keep<T: ?Sized + 'static>(value: Box<T>) -> &'static mut T {
    let place = Box::into_raw(value);
    // Its memory only: what a value contains may not be dropped in the next execution, where loom comes here.
    #[cfg(quiescent_loom)]
    let owned = place as *mut std::mem::ManuallyDrop<T>;
    #[cfg(not(quiescent_loom))]
    let owned = place;
    // SAFETY: from a box; at the end of the execution no thread is left that could use it.
    super::at_end(move || drop(unsafe { Box::from_raw(owned) }));
    // SAFETY: as above, and this is the only reference.
    unsafe { &mut *place }
}

/// Drops the content of a box. Its memory stays until the end of the execution: a reader that uses it all the
/// same finds what the destructor has left, and not another object.
///
/// # Safety
/// From a box, and the caller's.
pub unsafe fn drop_kept<T>(object: *mut T) {
    // SAFETY: the caller's promise.
    unsafe {
        object.drop_in_place();
        keep_memory(object.cast(), Layout::new::<T>());
    }
}

/// Frees memory at the end of the execution.
///
/// # Safety
/// From the allocator with this layout, unless that has no size.
pub unsafe fn keep_memory(memory: *mut u8, layout: Layout) {
    if layout.size() > 0 {
        // SAFETY: the caller's promise; at the end of the execution no thread is left that could use it.
        super::at_end(move || unsafe { dealloc(memory, layout) });
    }
}

/// `count` permanent values. A model's atomics have more state than their bits.
///
/// # Safety
/// As in the product; here it is always kept.
pub unsafe fn zeroes<T: 'static>(count: usize, new: impl Fn() -> T) -> Option<*mut T> {
    let all: Vec<T> = (0..count).map(|_| new()).collect();
    Some(keep(all.into_boxed_slice()).as_mut_ptr())
}

pub fn futex_wake_all(word: &super::AtomicU32) {
    for _ in 0..MOST_THREADS {
        super::futex_wake(word);
    }
}

pub fn full_fence() {
    super::fence(super::Ordering::SeqCst);
}

pub fn store_and_fence(place: &super::AtomicU64, value: u64) {
    place.store(value, super::Ordering::Release);
    full_fence();
}

/// There can be other threads.
pub const THREADS: bool = true;

/// The id of the calling thread; the same for all threads where no scenario needs to tell them apart.
pub fn thread_id() -> u32 {
    #[cfg(any(quiescent_explorer, quiescent_shuttle))]
    let number = super::thread_index() as u32;
    #[cfg(not(any(quiescent_explorer, quiescent_shuttle)))]
    let number = 0;
    number + 1
}

/// Its name.
pub fn thread_name(_thread: u32) -> Option<String> {
    Some("a thread".to_owned())
}

/// The kernel's file about it: there is none.
pub fn of_thread<'t>(_thread: u32, _file: &str, _text: &'t mut [u8]) -> Option<&'t str> {
    None
}

/// Lets other threads run first; the number is ignored.
#[track_caller]
pub fn spin(_times: u32) {
    super::yield_now();
}

/// The clock: models have only one.
pub fn coarse_ns() -> u64 {
    super::now_ns()
}

/// A lock whose value one thread at a time may change. (Models do not fork.)
#[derive(Debug)]
pub struct RenewableLock<T>(super::Mutex<T>);

impl<T> RenewableLock<T> {
    const_new! {
        pub fn new(value: T) -> RenewableLock<T> {
            RenewableLock(super::Mutex::new(value))
        }
    }

    /// Waits for the lock.
    pub fn take(&self) -> super::MutexGuard<'_, T> {
        let guard = self.0.lock();
        guard.unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
