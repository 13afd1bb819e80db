//! The list of calls of the engine, while a test records. One list for all domains: the only static of this
//! crate.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use quiescent_engine::record::{Answer, Entry, Input, Output};

/// The list. Its lock is taken last of all locks.
static LIST: Mutex<Vec<Entry>> = Mutex::new(Vec::new());

/// True while a test records. Changed while all locks are held under which the engine is called.
static ON: AtomicBool = AtomicBool::new(false);

fn list() -> MutexGuard<'static, Vec<Entry>> {
    LIST.lock().unwrap_or_else(PoisonError::into_inner)
}

/// True if this call is to be recorded.
#[inline]
pub fn is_on() -> bool {
    ON.load(Ordering::Relaxed)
}

/// Starts recording. All locks are held under which calls are made.
pub fn start() {
    list().clear();
    ON.store(true, Ordering::Relaxed);
}

/// Stops recording; returns what was recorded.
pub fn stop() -> Vec<Entry> {
    ON.store(false, Ordering::Relaxed);
    std::mem::take(&mut *list())
}

/// A call has been made. The caller holds the locks of all state that it accessed.
pub fn push(input: Input, answers: Vec<Answer>, output: Output) {
    list().push(Entry {
        input,
        answers,
        output,
    });
}
