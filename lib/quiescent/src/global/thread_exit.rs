//! The end of a thread, and the start of the process.
//!
//! A slot is released when its thread ends. The hook is a pthread key, because setting its value at
//! registration does not allocate (the first 32 keys are stored in the thread's own descriptor, and this one
//! is created at start-up). A second thread-local with a destructor would allocate, and deadlock if the first
//! read happens in a handler that interrupted `malloc`. Keys run after the destructors of Rust's
//! thread-locals, so those may still read.
//!
//! * A destructor that reads after the hook registers the thread again, and the hook runs again.
//! * A thread that ends **inside** a section (a leaked guard) keeps its slot for ever: a named holdout, and
//!   never a use after free. The hook first asks to be run again, up to the number of rounds that the C
//!   library grants, because another destructor may still drop the guard.
//! * A destructor that queues after the hook registers the thread again, too. If it does so in the last
//!   round, the slot stays taken, and the worker takes over what was queued.
//!
//! The end of the process has no hook: pending callbacks are not run, and nothing is waited for.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::global::env;
use quiescent_core::reader::threads::Slot;

/// The key + 1; 0 while there is none.
static KEY: AtomicU32 = AtomicU32::new(0);

/// Runs before `main`, when the process has one thread, so that registering the fence needs no wait, and the
/// key is one of the first. In a shared object: when it is loaded.
#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;

extern "C" fn start() {
    let _ = key();
    env().threads.mode.resolve();
    if cfg!(not(miri)) {
        if crate::watch::telemetry::is_demanded() {
            // If there is no page, no process can read counters; that is no error here.
            let _ = crate::watch::telemetry::start_in(env());
        }
        crate::global::fork::register();
        pin();
    }
}

fn key() -> Option<libc::pthread_key_t> {
    let known = KEY.load(Ordering::Acquire);
    if known != 0 {
        return Some(known - 1);
    }
    let mut key: libc::pthread_key_t = 0;
    // SAFETY: `key` is writable, and the hook has the type asked for.
    if unsafe { libc::pthread_key_create(&mut key, Some(at_exit)) } != 0 {
        return None;
    }
    match KEY.compare_exchange(0, key + 1, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => Some(key),
        Err(other) => {
            // SAFETY: created above, and not yet used.
            unsafe { libc::pthread_key_delete(key) };
            Some(other - 1)
        }
    }
}

/// Registers `slot` to be released at the end of this thread. Without a key (all are taken) the slot stays
/// taken, which costs only memory and scan time.
pub(crate) fn arm(slot: &'static Slot) {
    if let Some(key) = key() {
        // SAFETY: the key is valid; the value is only passed to `at_exit`.
        unsafe { libc::pthread_setspecific(key, std::ptr::from_ref(slot).cast()) };
    }
}

unsafe extern "C" fn at_exit(slot: *mut c_void) {
    // SAFETY: `arm` stored a 'static slot.
    let slot: &'static Slot = unsafe { &*slot.cast::<Slot>() };
    if !env().leave_thread(slot) {
        arm(slot);
    }
}

/// Keeps a shared object that contains this library loaded: threads, keys, handlers and queued callbacks
/// refer to its code. `dlclose` succeeds, and has no effect.
fn pin() {
    let Some(own) = object_of(start as *const c_void) else {
        return;
    };
    // SAFETY: reads a value that the kernel passed to the process.
    let entry = unsafe { libc::getauxval(libc::AT_ENTRY) };
    let entry = std::ptr::without_provenance(entry as usize);
    let program = object_of(entry);
    if program.is_some_and(|program| program.dli_fbase == own.dli_fbase) {
        return; // the program itself is never unloaded
    }
    let how = libc::RTLD_LAZY | libc::RTLD_NOLOAD | libc::RTLD_NODELETE;
    // SAFETY: the name of an object that is loaded; this loads nothing.
    unsafe { libc::dlopen(own.dli_fname, how) };
}

/// The object that contains an address.
fn object_of(address: *const c_void) -> Option<libc::Dl_info> {
    // SAFETY: plain data, filled in by the call before it is read.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: `info` is writable; the address is only compared.
    let found = unsafe { libc::dladdr(address, &mut info) };
    (found != 0 && !info.dli_fname.is_null()).then_some(info)
}
