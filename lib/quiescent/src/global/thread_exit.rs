//! The end of a thread, and the start of the process.
//!
//! A slot is released when its thread ends: the hook of [`AtExit`], which Linux registers without allocating.
//! (A second thread-local with a destructor would allocate, and deadlock if the first read happens in a
//! handler that interrupted `malloc`.) There it runs after the destructors of Rust's thread-locals, so those
//! may still read.
//!
//! * A destructor that reads after the hook registers the thread again, and the hook runs again. Where that
//!   is impossible ([`Has::late_readers`](quiescent_core::os::Has::late_readers)) it is an unregistered
//!   reader.
//! * A thread that ends **inside** a section (a leaked guard) keeps its slot for ever: a named holdout, and
//!   never a use after free. The hook first asks to be run again, as often as the system grants, because
//!   another destructor may still drop the guard.
//! * A destructor that queues after the hook registers the thread again, too. If it does so in the last
//!   round, the slot stays taken, and the worker takes over what was queued.
//!
//! The end of the process has no hook: pending callbacks are not run, and nothing is waited for.

use std::ffi::c_void;

use crate::global::env;
use quiescent_core::os::{self, AtExit};
use quiescent_core::reader::threads::Slot;

static AT_EXIT: AtExit = AtExit::new(at_exit);

// Before `main`, when the process has one thread, registering the fence needs no wait.
quiescent_core::at_start!(start);

#[inline]
extern "C" fn start() {
    AT_EXIT.prepare();
    env().threads.mode.resolve();
    if cfg!(not(miri)) {
        #[cfg(feature = "telemetry")]
        if crate::watch::telemetry::is_demanded() {
            // If there is no page, no process can read counters; that is no error here.
            let _ = crate::watch::telemetry::start(env());
        }
        #[cfg(feature = "fork")]
        crate::global::fork::register();
        // Threads, keys, handlers and queued callbacks refer to this code.
        pin();
    }
}

/// Keeps the shared object that contains the library loaded, if it is one.
pub(crate) fn pin() {
    os::pin(start as *const c_void);
}

/// The library has no thread: its object may be unloaded.
pub(crate) fn unpin() {
    os::unpin(unloaded);
}

/// The object is being unloaded. (Or the process ends.) The C library removes the handlers of forks.
extern "C" fn unloaded() {
    AT_EXIT.disarm();
    #[cfg(feature = "telemetry")]
    crate::watch::telemetry::end();
}

/// Registers `slot` to be released at the end of this thread. If that is impossible the slot stays taken,
/// which costs only memory and scan time.
pub(crate) fn arm(slot: &'static Slot) {
    // SAFETY: `at_exit` takes a slot; slots live forever.
    unsafe { AT_EXIT.arm(std::ptr::from_ref(slot).cast()) };
}

/// True if this thread's end has begun, and no hook will run any more.
pub(crate) fn is_over() -> bool {
    AT_EXIT.is_over()
}

unsafe extern "C" fn at_exit(slot: *mut c_void) {
    // SAFETY: `arm` stored a 'static slot.
    let slot: &'static Slot = unsafe { &*slot.cast::<Slot>() };
    if !env().leave_thread(slot) {
        arm(slot);
    }
}
