//! An allocator that refuses what a test tells it to, in the threads that say so; and one kind of allocation
//! counted.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU64, Ordering};

use super::common::real::Real;

/// What is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refuse {
    /// The blocks of queues: 256 places of two words, and a link.
    Blocks,
    /// Queues, which keep their lanes apart.
    Queues,
    /// All there is.
    Everything,
}

/// An object of this size is counted when it is made and when it is freed.
pub const COUNTED: usize = 72;

thread_local! {
    static REFUSED: Cell<Option<Refuse>> = const { Cell::new(None) };
    static THREADS: Cell<bool> = const { Cell::new(false) };
}

static REFUSALS: AtomicU64 = AtomicU64::new(0);
static MADE: AtomicU64 = AtomicU64::new(0);
static FREED: AtomicU64 = AtomicU64::new(0);

/// Runs `f` in a thread to which this is refused; it has been refused at least once.
#[track_caller]
pub fn refusing<T>(what: Refuse, f: impl FnOnce() -> T) -> T {
    let before = REFUSALS.load(Ordering::Acquire);
    REFUSED.set(Some(what));
    let result = f();
    REFUSED.set(None);
    assert!(
        REFUSALS.load(Ordering::Acquire) > before,
        "{what:?}: nobody asked"
    );
    result
}

/// Runs `f` in a thread that cannot start another one.
pub fn without_threads<T>(f: impl FnOnce() -> T) -> T {
    let before = REFUSALS.load(Ordering::Acquire);
    THREADS.set(true);
    let result = f();
    THREADS.set(false);
    assert!(
        REFUSALS.load(Ordering::Acquire) > before,
        "nobody wanted a thread"
    );
    result
}

/// Objects of the counted size: made, and freed.
pub fn counted() -> (u64, u64) {
    (MADE.load(Ordering::Acquire), FREED.load(Ordering::Acquire))
}

fn is_refused(layout: Layout) -> bool {
    let refused = match REFUSED.try_with(Cell::get) {
        Ok(Some(Refuse::Blocks)) => (4096..4400).contains(&layout.size()),
        Ok(Some(Refuse::Queues)) => layout.align() == 128,
        Ok(Some(Refuse::Everything)) => true,
        _ => false,
    };
    REFUSALS.fetch_add(refused.into(), Ordering::AcqRel);
    refused
}

struct Meagre;

#[global_allocator]
static MEAGRE: Meagre = Meagre;

// SAFETY: the system's allocator, which may refuse.
unsafe impl GlobalAlloc for Meagre {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_refused(layout) {
            return std::ptr::null_mut();
        }
        MADE.fetch_add((layout.size() == COUNTED).into(), Ordering::AcqRel);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        FREED.fetch_add((layout.size() == COUNTED).into(), Ordering::AcqRel);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(memory, layout) };
    }
}

type Start = extern "C" fn(*mut c_void) -> *mut c_void;
type Create = unsafe extern "C" fn(
    *mut libc::pthread_t,
    *const libc::pthread_attr_t,
    Start,
    *mut c_void,
) -> c_int;

/// Everybody's threads are made by this.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_create(
    thread: *mut libc::pthread_t,
    how: *const libc::pthread_attr_t,
    start: Start,
    argument: *mut c_void,
) -> c_int {
    if THREADS.try_with(Cell::get) == Ok(true) {
        REFUSALS.fetch_add(1, Ordering::AcqRel);
        return libc::EAGAIN;
    }
    static REAL: Real = Real::new(c"pthread_create");
    // SAFETY: it is of that type; the caller's promise.
    unsafe {
        std::mem::transmute::<*mut c_void, Create>(REAL.address())(thread, how, start, argument)
    }
}
