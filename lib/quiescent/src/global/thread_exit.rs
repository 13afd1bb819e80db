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

use crate::global::env;
use crate::workers::key::Key;
use quiescent_core::reader::threads::Slot;

static KEY: Key = Key::new(at_exit);

/// Runs before `main`, when the process has one thread, so that registering the fence needs no wait, and the
/// key is one of the first. In a shared object: when it is loaded.
#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;

extern "C" fn start() {
    KEY.make();
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

/// Registers `slot` to be released at the end of this thread. Without a key (all are taken) the slot stays
/// taken, which costs only memory and scan time.
pub(crate) fn arm(slot: &'static Slot) {
    KEY.set(slot);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_in_an_object_and_nothing_else_is() {
        assert!(object_of(start as *const c_void).is_some());
        assert!(object_of(std::ptr::null()).is_none());
        assert!(object_of(Box::leak(Box::new(0u8)) as *const u8 as *const c_void).is_none());
    }
}
