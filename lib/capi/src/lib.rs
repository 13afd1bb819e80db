//! The functions that `include/quiescent.h` declares and documents, for C, C++ and all that can call C.
//!
//! A Rust program that links this crate has one runtime for its own sections and those of its C parts. Others
//! link `libquiescent.so` or `libquiescent.a`, which `make -C lib/capi` builds. (It links the shared object
//! from the static library: with a soname and a version script, and with the thread-local that the header
//! uses, which Rust does not export from a `cdylib`.)
//!
//! | file | functions |
//! |---|---|
//! | `reader` | sections of the process's domain: what the header does not inline |
//! | `domain` | domains, and their sections |
//! | `queue` | callbacks, retired objects, drains |
//! | `wait` | grace periods, cookies, barriers, the end of the library's threads |
//! | `settings` | settings, counters, reports |
//! | `code` | what the functions return |
//!
//! # Calls of functions in C
//! A callback has the type `extern "C-unwind"`: an exception of C++ that leaves it ends the process, because
//! the library's threads and queues have no use for it. No function here unwinds into its caller.

#![allow(
    missing_docs,
    clippy::missing_safety_doc,
    reason = "quiescent.h documents each function, for those who call it"
)]

pub mod code;
pub mod domain;
pub mod queue;
pub mod reader;
pub mod settings;
pub mod wait;

use std::time::Duration;

use quiescent::raw::env;
use quiescent_core::domain::life::Domain;

/// The domain of a call: null is the process's.
///
/// # Safety
/// Null, or from `qsc_domain_new` or `qsc_srcu_new`.
unsafe fn domain_at(domain: *const Domain) -> &'static Domain {
    // SAFETY: domains live for ever.
    unsafe { domain.as_ref() }.unwrap_or(&env().home)
}

/// A time in nanoseconds; `QSC_FOREVER` is longer than any process lives.
fn time(ns: u64) -> Duration {
    Duration::from_nanos(ns)
}

/// In the shared object, what a panic of the library itself calls in place of the standard library's handler:
/// unwinds to where panics are contained, or ends the process. It prints nothing: a third of the object would
/// be what prints backtraces. The Makefile redirects the calls.
#[unsafe(no_mangle)]
extern "Rust" fn quiescent_silent_panic(_: &core::panic::PanicInfo<'_>) -> ! {
    if std::thread::panicking() {
        std::process::abort();
    }
    std::panic::resume_unwind(Box::new("a panic of the library"));
}

/// The same where an allocation fails that has no way to fail.
#[unsafe(no_mangle)]
extern "Rust" fn quiescent_silent_abort(_size: usize, _align: usize) -> ! {
    std::process::abort();
}
