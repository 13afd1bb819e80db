//! The end of a thread, and the start of the process.
//!
//! A slot is given back when its thread ends. The hook is a pthread key: setting its value at
//! registration touches no allocator (the first 32 keys live in the thread's own descriptor, and this
//! one is created at start-up), which a second thread-local with a destructor would do, and deadlock
//! when the first read happens in a handler that interrupted `malloc`. Keys run after the destructors
//! of Rust's thread-locals, so those may still read.
//!
//! * A destructor that reads after our hook registers again, and the hook runs again.
//! * A thread that ends **inside** a section (a leaked guard) keeps its slot for ever: a named
//!   holdout, and never a use after free. The hook asks to be run again first, up to the number of
//!   rounds the C library grants, since another destructor may still drop the guard.
//! * A destructor that queues after our hook registers again, too. If it does so in the last round, the slot
//!   stays taken, and what was queued is the worker's to take over.
//!
//! The end of the process has no hook: what is pending is not run, and nobody is waited for.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::inner::domain::process::Process;
use crate::inner::prim;
use crate::inner::reader::threads::Slot;

/// The key + 1; 0 while there is none.
static KEY: AtomicU32 = AtomicU32::new(0);

/// Runs before `main`, when the process has one thread: the fence is registered without a wait, and
/// the key is one of the first. In a shared object: when it is loaded.
#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;

extern "C" fn start() {
    let _ = key();
    prim::domain().resolve_mode();
    if cfg!(not(miri)) {
        if crate::watch::telemetry::is_demanded() {
            let _ = crate::watch::telemetry::start(); // where there is no page there is none to look at
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
            // SAFETY: created above, and nobody has used it.
            unsafe { libc::pthread_key_delete(key) };
            Some(other - 1)
        }
    }
}

/// Has the end of this thread give `slot` back. Without a key (all are taken) the slot stays taken,
/// which costs memory and the time to scan it, nothing else.
pub(crate) fn arm(slot: &'static Slot) {
    if let Some(key) = key() {
        // SAFETY: the key is valid; the value is only handed back to `at_exit`.
        unsafe { libc::pthread_setspecific(key, std::ptr::from_ref(slot).cast()) };
    }
}

unsafe extern "C" fn at_exit(slot: *mut c_void) {
    // SAFETY: `arm` stored a 'static slot.
    let slot: &'static Slot = unsafe { &*slot.cast::<Slot>() };
    if !Process::leave_thread(slot) {
        arm(slot);
    }
}

/// A shared object that contains this library is not unloaded any more: threads, keys, handlers and queued
/// callbacks refer to its code. `dlclose` succeeds, and does nothing.
fn pin() {
    let Some(own) = object_of(start as *const c_void) else {
        return;
    };
    // SAFETY: reads a value that the kernel passed to the process.
    let entry = unsafe { libc::getauxval(libc::AT_ENTRY) };
    let entry = std::ptr::without_provenance(entry as usize);
    let program = object_of(entry);
    if program.is_some_and(|program| program.dli_fbase == own.dli_fbase) {
        return; // nobody unloads the program
    }
    let how = libc::RTLD_LAZY | libc::RTLD_NOLOAD | libc::RTLD_NODELETE;
    // SAFETY: the name of an object that is loaded; nothing is loaded by this.
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
