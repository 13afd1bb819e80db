//! Work at the end of an execution, on the exploring thread: frees memory that readers may use during the
//! execution. Otherwise memory would limit a search.

use std::cell::RefCell;

type End = Box<dyn FnOnce()>;

thread_local! {
    static ENDS: RefCell<Vec<End>> = const { RefCell::new(Vec::new()) };
}

pub(crate) fn add(end: impl FnOnce() + 'static) {
    ENDS.with_borrow_mut(|ends| ends.push(Box::new(end)));
}

/// The execution is over, and no thread of it goes on. If it failed, threads were left where they were, with
/// references to all.
pub(crate) fn carry_out(failed: bool) {
    for end in ENDS.take() {
        match failed {
            true => std::mem::forget(end),
            false => end(),
        }
    }
}
