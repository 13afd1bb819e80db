//! The role of a thread among the library's workers.
//!
//! Thread-local cells without destructors: they are valid to the very end of the thread.

use std::cell::Cell;

thread_local! {
    /// The role number of a worker; 0 on other threads.
    pub(crate) static WORKER: Cell<usize> = const { Cell::new(0) };
    /// The role number of an overflow worker; 0 on other threads.
    pub(crate) static OVERFLOW: Cell<usize> = const { Cell::new(0) };
    /// Whether the callback that this thread runs is watched.
    pub(crate) static WATCHED: Cell<usize> = const { Cell::new(0) };
}

/// Whether the calling thread is or was a worker.
pub(crate) fn is_ours() -> bool {
    WORKER.get() != 0 || OVERFLOW.get() != 0
}
