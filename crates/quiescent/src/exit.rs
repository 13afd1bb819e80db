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

use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::domain::Domain;
use crate::slots::Slot;
use crate::sync;

/// The key + 1; 0 while there is none.
static KEY: AtomicU32 = AtomicU32::new(0);

/// Runs before `main`, when the process has one thread: the fence is registered without a wait, and
/// the key is one of the first.
#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;

extern "C" fn start() {
    let _ = key();
    sync::domain().resolve_mode();
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
    if !Domain::leave_thread(slot) {
        arm(slot);
    }
}
