//! What functions return: 0, or a negative `errno`.

use std::ffi::{CStr, c_char, c_int};

use quiescent::{InitError, Refusal, SyncError};

/// A pointer that must not be null is null; an argument is out of its range.
pub const INVALID: c_int = -libc::EINVAL;
/// A head is queued already (in builds with debug assertions).
pub const QUEUED_TWICE: c_int = -libc::EALREADY;
/// The caller is inside a section: it would wait for itself.
pub const INSIDE_SECTION: c_int = -libc::EDEADLK;
/// The caller is a callback; or a domain is in use.
pub const BUSY: c_int = -libc::EBUSY;
pub const TIMED_OUT: c_int = -libc::ETIMEDOUT;
/// `membarrier(2)` was refused after start-up.
pub const FENCE_REFUSED: c_int = -libc::EPERM;
/// The worker cannot be started.
pub const NO_WORKER: c_int = -libc::EAGAIN;
pub const NO_MEMORY: c_int = -libc::ENOMEM;
/// The budget has no room.
pub const FULL: c_int = -libc::ENOBUFS;
/// The system has no `membarrier(2)`.
pub const NO_FENCE: c_int = -libc::ENOTSUP;
/// Other threads are registered already; nothing changes any more.
pub const TOO_LATE: c_int = -libc::EISCONN;

/// What a function returns for this.
pub(crate) fn of<T>(result: Result<T, SyncError>) -> c_int {
    match result {
        Ok(_) => 0,
        Err(SyncError::InsideSection) => INSIDE_SECTION,
        Err(SyncError::InsideCallback) => BUSY,
        Err(SyncError::TimedOut { .. }) => TIMED_OUT,
        Err(SyncError::FenceRefused { .. }) => FENCE_REFUSED,
        Err(SyncError::OutOfMemory { .. }) => NO_MEMORY,
        Err(_) => NO_WORKER,
    }
}

/// The same for an object that was not queued.
pub(crate) fn of_refusal(result: Result<(), Refusal>) -> c_int {
    match result {
        Ok(()) => 0,
        Err(Refusal::CannotWait(error)) => of::<()>(Err(error)),
        Err(Refusal::TimedOut { .. }) => TIMED_OUT,
        Err(_) => FULL,
    }
}

/// The same for a setting.
pub(crate) fn of_init(result: Result<(), InitError>) -> c_int {
    match result {
        Ok(()) => 0,
        Err(InitError::AlreadyReading) => TOO_LATE,
        Err(InitError::NoMembarrier { .. }) => NO_FENCE,
        Err(_) => INVALID,
    }
}

const fn text(code: c_int) -> &'static CStr {
    match code {
        0 => c"success",
        INVALID => c"a null pointer, or a value out of range",
        QUEUED_TWICE => c"the head is queued already: wait until its callback has run",
        INSIDE_SECTION => {
            c"it would wait for the read-side section that it is called in: end the section first"
        }
        BUSY => {
            c"called in a callback, or the domain is in use: call it on another thread, or later"
        }
        TIMED_OUT => c"readers or callbacks were not done in time",
        FENCE_REFUSED => {
            c"membarrier(2) was refused after start-up: allow it in the sandbox, or set QSC_FENCED"
        }
        NO_WORKER => {
            c"the worker cannot be started: free a thread or three descriptors, or use qsc_drain"
        }
        NO_MEMORY => c"out of memory: nothing was queued or waited for",
        FULL => c"the budget is used up: try again later, wait for a grace period, or raise it",
        NO_FENCE => c"membarrier(2) is not available: leave QSC_FENCED unset, or set it to 1",
        TOO_LATE => c"a thread has read already: set this at the beginning of main",
        _ => c"not an error of this library",
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn qsc_strerror(code: c_int) -> *const c_char {
    text(code).as_ptr()
}
