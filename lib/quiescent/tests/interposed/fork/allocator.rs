//! Additions to the allocator for these tests: it handles forks, and has a pool of objects.
//!
//! *Forks*: when a test has switched it on, every call takes one lock, which is not recursive, and which
//! `pthread_atfork` handlers take and release, as allocators' do. They can be registered before the library's
//! (in a constructor that runs earlier) and after them. A thread that allocates between *prepare* and the end
//! hangs; so does one that allocates under a lock that *prepare* waits for.
//!
//! *Objects*: a pool, in which each object is in use or not. Freeing one that is not in use is recorded.

use std::cell::UnsafeCell;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// Objects of the pool.
pub const POOL: usize = 1 << 15;

pub type Object = [u64; 8];

struct Pool(UnsafeCell<[Object; POOL]>);

// SAFETY: handed out one by one, as raw memory.
unsafe impl Sync for Pool {}

static OBJECTS: Pool = Pool(UnsafeCell::new([[0; 8]; POOL]));
static IN_USE: [AtomicBool; POOL] = [const { AtomicBool::new(false) }; POOL];
/// Objects that were freed while they were not in use.
pub static TWICE: AtomicU32 = AtomicU32::new(0);

static LOCKS: AtomicBool = AtomicBool::new(false);
static LOCKED: AtomicBool = AtomicBool::new(false);

fn lock() {
    while LOCKED.swap(true, Ordering::Acquire) {
        // SAFETY: no arguments.
        unsafe { libc::sched_yield() };
    }
}

extern "C" fn prepare() {
    lock();
}

extern "C" fn release() {
    LOCKED.store(false, Ordering::Release);
}

/// From now on every call takes the lock, and forks do.
pub fn take_locks() {
    // SAFETY: the handlers are of the type asked for.
    let registered = unsafe { libc::pthread_atfork(Some(prepare), Some(release), Some(release)) };
    assert_eq!(registered, 0);
    LOCKS.store(true, Ordering::Relaxed);
}

/// The variable that has the handlers registered before the library's.
pub const EARLY: &str = "QUIESCENT_TEST_EARLY";

#[used]
#[unsafe(link_section = ".init_array.00101")]
static START: extern "C" fn() = start;

extern "C" fn start() {
    // SAFETY: the name ends with a zero, and no thread changes the environment yet.
    if unsafe { !libc::getenv(c"QUIESCENT_TEST_EARLY".as_ptr()).is_null() } {
        take_locks();
    }
}

/// Calls `f` under the lock, if there is to be one.
pub fn guarded<T>(f: impl FnOnce() -> T) -> T {
    if !LOCKS.load(Ordering::Relaxed) {
        return f();
    }
    lock();
    let result = f();
    release();
    result
}

/// Takes an object of the pool back. Anything else is left alone: false.
pub fn take_back(memory: *mut u8) -> bool {
    let offset = memory.addr().wrapping_sub(OBJECTS.0.get().addr());
    let Some(in_use) = IN_USE.get(offset / size_of::<Object>()) else {
        return false;
    };
    if !in_use.swap(false, Ordering::AcqRel) {
        TWICE.fetch_add(1, Ordering::Relaxed);
    }
    true
}

/// An object that is not in use, near the place `hint`; it is from now on.
pub fn object(hint: usize) -> Option<NonNull<Object>> {
    let index = hint % POOL;
    if IN_USE[index].swap(true, Ordering::AcqRel) {
        return None;
    }
    // SAFETY: in bounds.
    NonNull::new(unsafe { OBJECTS.0.get().cast::<Object>().add(index) })
}

/// Objects in use.
pub fn in_use() -> usize {
    let used = |object: &&AtomicBool| object.load(Ordering::Acquire);
    IN_USE.iter().filter(used).count()
}
