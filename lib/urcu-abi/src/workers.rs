//! `struct call_rcu_data`. In liburcu each is a thread with a queue. Here all callbacks run on the worker of
//! this library, so it is a handle: programs set it for threads and CPUs, get it back, and free it. If a
//! program asks for its thread, to join it after it was freed, there is one, which does nothing until then.

use std::cell::Cell;
use std::ffi::{c_int, c_ulong, c_void};
use std::ptr;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A handle, never moved.
#[derive(Debug)]
pub struct CallRcuData {
    thread: Mutex<Option<libc::pthread_t>>,
    freed: Mutex<bool>,
    changed: Condvar,
}

type Place = *mut CallRcuData;

static DEFAULT: CallRcuData = CallRcuData::new();
/// Those of CPUs, as addresses; 0 for none.
static OF_CPUS: Mutex<Vec<usize>> = Mutex::new(Vec::new());

thread_local! {
    static OF_THREAD: Cell<Place> = const { Cell::new(ptr::null_mut()) };
}

impl CallRcuData {
    const fn new() -> CallRcuData {
        CallRcuData {
            thread: Mutex::new(None),
            freed: Mutex::new(false),
            changed: Condvar::new(),
        }
    }
}

/// No code of the program runs under one of these locks.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn cpus() -> usize {
    // SAFETY: reads a number.
    let cpus = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_CONF) };
    usize::try_from(cpus).unwrap_or(1).max(1)
}

fn default_place() -> Place {
    (&raw const DEFAULT).cast_mut()
}

fn failed(errno: c_int) -> c_int {
    // SAFETY: the calling thread's own.
    unsafe { *libc::__errno_location() = errno };
    -errno
}

#[unsafe(no_mangle)]
extern "C" fn quiescent_urcu_create_data(_flags: c_ulong, _cpu: c_int) -> Place {
    Box::into_raw(Box::new(CallRcuData::new()))
}

/// # Safety
/// Null, or made by `quiescent_urcu_create_data`, and not used again but by those that free it.
#[unsafe(no_mangle)]
unsafe extern "C" fn quiescent_urcu_free_data(data: Place) {
    if data.is_null() || data == default_place() {
        return;
    }
    // SAFETY: the caller's promise.
    let it = unsafe { &*data };
    let has_thread = lock(&it.thread).is_some();
    *lock(&it.freed) = true;
    it.changed.notify_all();
    if !has_thread {
        // SAFETY: the caller's promise; its thread would free it.
        drop(unsafe { Box::from_raw(data) });
    }
}

/// # Safety
/// A handle that is not freed.
#[unsafe(no_mangle)]
unsafe extern "C" fn quiescent_urcu_data_thread(data: Place) -> libc::pthread_t {
    // SAFETY: the caller's promise.
    let mut thread = lock(unsafe { &(*data).thread });
    *thread.get_or_insert_with(|| {
        let (mut new, mut all, mut before) = (0, full(), full());
        // SAFETY: places of these types; the thread takes a handle. It handles no signal of the program.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
            let refused = libc::pthread_create(&mut new, ptr::null(), wait_for_free, data.cast());
            libc::pthread_sigmask(libc::SIG_SETMASK, &before, &mut all);
            if refused != 0 {
                crate::environment::die("get_call_rcu_thread: no thread can be started");
            }
        }
        new
    })
}

/// All signals.
fn full() -> libc::sigset_t {
    let mut set = std::mem::MaybeUninit::uninit();
    // SAFETY: writes the set.
    unsafe {
        libc::sigfillset(set.as_mut_ptr());
        set.assume_init()
    }
}

extern "C" fn wait_for_free(data: *mut c_void) -> *mut c_void {
    let data: Place = data.cast();
    // SAFETY: the handle is freed below, or it is the default one.
    let it = unsafe { &*data };
    let mut freed = lock(&it.freed);
    while !*freed {
        freed = it
            .changed
            .wait(freed)
            .unwrap_or_else(PoisonError::into_inner);
    }
    drop(freed);
    drop(lock(&it.thread)); // its creator is done with it
    // SAFETY: no other user: it was freed while this thread existed.
    drop(unsafe { Box::from_raw(data) });
    ptr::null_mut()
}

#[unsafe(no_mangle)]
extern "C" fn quiescent_urcu_default_data() -> Place {
    default_place()
}

#[unsafe(no_mangle)]
extern "C" fn quiescent_urcu_cpu_data(cpu: c_int) -> Place {
    let cpus = lock(&OF_CPUS);
    let of = usize::try_from(cpu).ok().and_then(|cpu| cpus.get(cpu));
    ptr::with_exposed_provenance_mut(of.copied().unwrap_or(0))
}

#[unsafe(no_mangle)]
extern "C" fn quiescent_urcu_set_cpu_data(cpu: c_int, data: Place) -> c_int {
    let mut of = lock(&OF_CPUS);
    of.resize(cpus(), 0);
    match usize::try_from(cpu).ok().and_then(|cpu| of.get_mut(cpu)) {
        None => failed(libc::EINVAL),
        Some(place) if *place != 0 && !data.is_null() => failed(libc::EEXIST),
        Some(place) => {
            *place = data.expose_provenance();
            0
        }
    }
}

#[unsafe(no_mangle)]
extern "C" fn quiescent_urcu_create_all(flags: c_ulong) -> c_int {
    for cpu in 0..cpus() as c_int {
        if quiescent_urcu_cpu_data(cpu).is_null() {
            quiescent_urcu_set_cpu_data(cpu, quiescent_urcu_create_data(flags, cpu));
        }
    }
    0
}

/// # Safety
/// Those of CPUs are not used any more.
#[unsafe(no_mangle)]
unsafe extern "C" fn quiescent_urcu_free_all() {
    let all = std::mem::take(&mut *lock(&OF_CPUS));
    for data in all {
        // SAFETY: the caller's promise; null, or such a handle.
        unsafe { quiescent_urcu_free_data(ptr::with_exposed_provenance_mut(data)) };
    }
}

#[unsafe(no_mangle)]
extern "C" fn quiescent_urcu_thread_data() -> Place {
    OF_THREAD.get()
}

#[unsafe(no_mangle)]
extern "C" fn quiescent_urcu_set_thread_data(data: Place) {
    OF_THREAD.set(data);
}

/// That of the calling thread, of its CPU, or the default one.
#[unsafe(no_mangle)]
extern "C" fn quiescent_urcu_data() -> Place {
    let own = OF_THREAD.get();
    if !own.is_null() {
        return own;
    }
    // SAFETY: reads a number.
    let of_cpu = quiescent_urcu_cpu_data(unsafe { libc::sched_getcpu() });
    if of_cpu.is_null() {
        default_place()
    } else {
        of_cpu
    }
}
