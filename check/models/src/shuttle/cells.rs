//! Thread-locals as numbered cells, of model threads.

use std::cell::RefCell;

use shuttle::current::TaskId;

use crate::CELLS;

thread_local! {
    /// By number of the model thread. Model threads are fibers on one OS thread.
    static THREADS: RefCell<Vec<[usize; CELLS]>> = const { RefCell::new(Vec::new()) };
}

/// Begins a new execution.
pub(crate) fn reset() {
    THREADS.with_borrow_mut(Vec::clear);
}

/// A word of an execution, at its first thread.
#[derive(Clone, Debug)]
struct Word(usize);

/// A word of this execution, which is the same for all threads: what `make` returns the first time. `make`
/// must not let another thread run.
///
/// # Panics
/// Outside an execution.
pub fn of_execution(make: impl FnOnce() -> usize) -> usize {
    let first = TaskId::from(0);
    match shuttle::current::get_label_for_task(first) {
        Some(Word(word)) => word,
        None => {
            let word = make();
            shuttle::current::set_label_for_task(first, Word(word));
            word
        }
    }
}

/// The number of the calling model thread in order of creation.
///
/// # Panics
/// Outside an execution.
pub fn thread_index() -> usize {
    shuttle::current::me().into()
}

fn with<R>(f: impl FnOnce(&mut [usize; CELLS]) -> R) -> R {
    let me = thread_index();
    THREADS.with_borrow_mut(|threads| {
        if threads.len() <= me {
            threads.resize(me + 1, [0; CELLS]);
        }
        f(&mut threads[me])
    })
}

/// Reads a numbered cell of this model thread.
///
/// # Panics
/// If there is no such cell, and outside an execution.
pub fn tls_get(index: usize) -> usize {
    with(|cells| cells[index])
}

/// Writes a numbered cell of this model thread.
///
/// # Panics
/// If there is no such cell, and outside an execution.
pub fn tls_set(index: usize, value: usize) {
    with(|cells| cells[index] = value);
}
