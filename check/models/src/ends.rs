//! What is to be done when an execution is over, on the thread that explores: memory that readers may use for as long as there are
//! any is given back then. Otherwise a search would be limited by memory.

use std::cell::RefCell;

type End = Box<dyn FnOnce()>;

thread_local! {
    static ENDS: RefCell<Vec<End>> = const { RefCell::new(Vec::new()) };
}

pub(crate) fn add(end: impl FnOnce() + 'static) {
    ENDS.with_borrow_mut(|ends| ends.push(Box::new(end)));
}

/// The execution is over, and no thread of it goes on. If it failed, threads were left where they were, with references to all.
pub(crate) fn carry_out(failed: bool) {
    for end in ENDS.take() {
        match failed {
            true => std::mem::forget(end),
            false => end(),
        }
    }
}
