//! Work at the end of an execution, on the exploring thread: it frees memory that readers may use during the
//! execution. Without it, memory would limit a search.

use std::cell::RefCell;

type End = Box<dyn FnOnce()>;

thread_local! {
    static ENDS: RefCell<Vec<End>> = const { RefCell::new(Vec::new()) };
}

pub(crate) fn add(end: impl FnOnce() + 'static) {
    ENDS.with_borrow_mut(|ends| ends.push(Box::new(end)));
}

/// The execution is over, and none of its threads runs again. If it failed, its threads were left suspended,
/// with references to the memory.
pub(crate) fn carry_out(failed: bool) {
    for end in ENDS.take() {
        match failed {
            true => std::mem::forget(end),
            false => end(),
        }
    }
}
