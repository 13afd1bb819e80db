//! The functions of the C library and the allocator that this program replaces. Each calls the hooks of the
//! test modules, and then the original. A module's hooks do nothing until one of its tests switches them on,
//! and each test is a process of its own.

use std::alloc::{GlobalAlloc, Layout};
use std::ffi::{c_int, c_long, c_void};
use std::mem::transmute;
use std::ptr::null_mut;

use crate::clocks::shifted;
use crate::common::real::{self, Real};
use crate::exhaustion::meagre;
use crate::fork::allocator::{guarded, take_back};
use crate::stopped_driver::places;
use crate::strict::Strict;
use crate::{backlog, no_worker, tuning, worker_errors};

struct Replaced;

#[global_allocator]
static REPLACED: Replaced = Replaced;

// SAFETY: the strict allocator, which may refuse; and a pool, for which only `dealloc` is called.
unsafe impl GlobalAlloc for Replaced {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if meagre::refuses(layout) || worker_errors::refuses_memory() {
            return null_mut();
        }
        places::before_allocation();
        meagre::note_made(layout);
        // SAFETY: the caller's promise.
        guarded(|| unsafe { Strict.alloc(layout) })
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        meagre::note_freed(layout);
        tuning::note_freed(layout);
        guarded(|| {
            if !take_back(memory) {
                // SAFETY: the caller's promise.
                unsafe { Strict.dealloc(memory, layout) };
            }
        });
    }
}

/// The error of a function that failed.
fn failed(errno: c_int) -> c_int {
    // SAFETY: the place of this thread's errno.
    unsafe { *libc::__errno_location() = errno };
    -1
}

/// Everybody's futexes, and the library's `membarrier`.
#[unsafe(no_mangle)]
extern "C" fn syscall(
    number: c_long,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> c_long {
    if worker_errors::refuses_syscall(number, a) {
        return failed(libc::ENOMEM).into();
    }
    places::before_syscall(number, a, b);
    let mut nap = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let d = shifted::at_most(number, b, d, &mut nap);
    // SAFETY: what the caller wanted; it ignores the words that were not passed.
    unsafe { real::syscall()(number, a, b, c, d, e, f) }
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
    static REAL: Real = Real::new(c"pthread_create");
    places::before_call();
    if backlog::refuses_thread() || meagre::refuses_thread() {
        return libc::EAGAIN;
    }
    // SAFETY: it is of that type; the caller's promise.
    unsafe { transmute::<*mut c_void, Create>(REAL.address())(thread, how, start, argument) }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
unsafe extern "C" fn clock_gettime(clock: libc::clockid_t, time: *mut libc::timespec) -> c_int {
    static REAL: Real = Real::new(c"clock_gettime");
    type Tell = unsafe extern "C" fn(libc::clockid_t, *mut libc::timespec) -> c_int;
    if shifted::is_on() {
        // SAFETY: the caller's promise.
        return unsafe { shifted::tell(clock, time) };
    }
    // SAFETY: it is of that type; the caller's promise.
    unsafe { transmute::<*mut c_void, Tell>(REAL.address())(clock, time) }
}

/// The library's first descriptors are made by this.
#[unsafe(no_mangle)]
extern "C" fn timerfd_create(clock: c_int, flags: c_int) -> c_int {
    places::before_call();
    if no_worker::refuses_timer() {
        return failed(libc::EMFILE);
    }
    let (clock, flags) = (clock as usize, flags as usize);
    // SAFETY: what the C library does; takes integers only.
    unsafe { real::syscall()(libc::SYS_timerfd_create, clock, flags, 0, 0, 0, 0) as c_int }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
unsafe extern "C" fn timerfd_settime(
    fd: c_int,
    flags: c_int,
    new: *const libc::itimerspec,
    old: *mut libc::itimerspec,
) -> c_int {
    places::before_call();
    if shifted::is_on() {
        // SAFETY: the caller's promise.
        return unsafe { shifted::set_timer(fd, flags, new) };
    }
    let (fd, flags, new, old) = (fd as usize, flags as usize, new as usize, old as usize);
    // SAFETY: what the C library does; the caller's promise.
    unsafe { real::syscall()(libc::SYS_timerfd_settime, fd, flags, new, old, 0, 0) as c_int }
}

/// The library's permanent memory is made by this.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
unsafe extern "C" fn mmap(
    at: *mut c_void,
    size: usize,
    access: c_int,
    flags: c_int,
    fd: c_int,
    offset: i64,
) -> *mut c_void {
    places::before_call();
    let (at, access, flags) = (at as usize, access as usize, flags as usize);
    let (fd, offset) = (fd as usize, offset as usize);
    // SAFETY: what the C library does; the caller's promise.
    let made = unsafe { real::syscall()(libc::SYS_mmap, at, size, access, flags, fd, offset) };
    std::ptr::with_exposed_provenance_mut(made as usize)
}

/// A thread that has a slot says so by this.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_setspecific(key: libc::pthread_key_t, value: *const c_void) -> c_int {
    static REAL: Real = Real::new(c"pthread_setspecific");
    type Set = unsafe extern "C" fn(libc::pthread_key_t, *const c_void) -> c_int;
    places::before_call();
    // SAFETY: it is of that type; the caller's promise.
    unsafe { transmute::<*mut c_void, Set>(REAL.address())(key, value) }
}
