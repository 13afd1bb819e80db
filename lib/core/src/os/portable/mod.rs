//! Any system: the standard library and nothing else.
//!
//! Readers execute fences, as there is none of the process. Sleeping on a word, the worker's sleep and timers
//! are condition variables; the end of a thread is the destructor of a thread-local. No signal handler may
//! read, since all of these take locks, and memory comes from the allocator.
//!
//! WebAssembly without threads has one thread, which never waits for another, and starts none: what is queued
//! runs when the program calls for it. Under Miri the program may have threads, and the library starts none,
//! either: one that is left when `main` ends is an error there. Nor does it open a file, which Miri refuses.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ffi::CStr;
use std::io::{self, ErrorKind};
use std::ptr::NonNull;

use super::{Has, NO_SUCH_CALL};
pub use alarm::{Timer, Wakeups};
pub use names::{numbered, of_thread, thread_id, thread_name};
pub use park::{futex_wait, futex_wake, futex_wake_all};
pub use threads::{
    AtExit, Ended, doze, has_more_rights, has_one_processor, on_fork, pin, spawn, unpin,
};

mod alarm;
mod names;
mod park;
mod threads;

/// Nothing of what a system may have.
pub const HAS: Has = Has {
    fence: false,
    signals: false,
    fork: false,
    late_readers: false,
    pressure: false,
    telemetry: false,
    silent_timer: false,
    threads: cfg!(not(any(
        miri,
        all(target_family = "wasm", not(target_feature = "atomics"))
    ))),
    pages: false,
    stays: false,
};

/// There is none.
///
/// # Errors
/// Always.
pub fn heavy_fence() -> Result<(), i32> {
    Err(NO_SUCH_CALL)
}

/// There is none.
///
/// # Errors
/// Always.
pub fn register_heavy_fence() -> Result<(), i32> {
    Err(NO_SUCH_CALL)
}

/// Monotonic nanoseconds, not 0.
#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
pub fn now_ns() -> u64 {
    use std::sync::OnceLock;
    use std::time::Instant;
    /// What the first call returns. The library subtracts durations from times.
    const FIRST: u64 = 1 << 40;
    static START: OnceLock<Instant> = OnceLock::new();
    let passed = START.get_or_init(Instant::now).elapsed().as_nanos();
    FIRST.saturating_add(u64::try_from(passed).unwrap_or(u64::MAX))
}

/// There is no clock: every look is a microsecond after the one before.
#[cfg(all(target_family = "wasm", target_os = "unknown"))]
pub fn now_ns() -> u64 {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NOW: AtomicU64 = AtomicU64::new(1 << 40);
    NOW.fetch_add(1000, Ordering::Relaxed)
}

/// The same clock: no system has a cheaper one that the standard library knows.
pub fn coarse_ns() -> u64 {
    now_ns()
}

/// Bytes of this process that are resident: not known.
pub fn resident() -> Option<u64> {
    None
}

/// Alignment of [`map`].
const PAGE: usize = 4096;

/// Zeroed memory, aligned to a page.
pub fn map(size: usize) -> Option<NonNull<u8>> {
    let layout = Layout::from_size_align(size.max(1), PAGE).ok()?;
    // SAFETY: the layout has a size.
    NonNull::new(unsafe { alloc_zeroed(layout) })
}

/// Frees memory that was not published.
///
/// # Safety
/// From [`map`], with this size.
pub unsafe fn unmap(memory: NonNull<u8>, size: usize) {
    if let Ok(layout) = Layout::from_size_align(size.max(1), PAGE) {
        // SAFETY: allocated with this layout.
        unsafe { dealloc(memory.as_ptr(), layout) };
    }
}

/// The page of this process: none.
#[derive(Debug)]
pub struct SharedPage;

#[allow(
    clippy::unused_self,
    clippy::unnecessary_wraps,
    reason = "the same methods as on other systems"
)]
impl SharedPage {
    pub const fn none() -> SharedPage {
        SharedPage
    }

    /// There is none.
    ///
    /// # Errors
    /// Always.
    pub fn make(&self, _name: &CStr, _size: usize) -> io::Result<NonNull<u8>> {
        let without = "there is no telemetry on this system";
        Err(io::Error::new(ErrorKind::Unsupported, without))
    }

    /// # Safety
    /// None is needed here.
    pub unsafe fn leave(&self, _page: NonNull<u8>, _size: usize) {}

    pub fn close(&self, _size: usize) {}
}

#[cfg(test)]
mod tests;
