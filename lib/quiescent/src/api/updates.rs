//! The updates of cells that run in the calling thread.
//!
//! The function of an update is the program's, and may store to the cell that is being updated. Then the
//! update calls it again. A function that stores in each call keeps the update from ending, and no writer
//! besides it is to be seen. So each change of a cell is noted in the updates of that cell in this thread.

use std::cell::Cell;
use std::marker::PhantomData;
use std::ptr;

/// So many calls of the function in a row may store to the cell.
const MOST: u32 = 1000;

thread_local! {
    /// The innermost running update of this thread.
    static RUNNING: Cell<*const Update> = const { Cell::new(ptr::null()) };
}

/// An update of a cell.
#[derive(Debug)]
pub(super) struct Update {
    /// The address of the cell.
    cell: *const (),
    /// Whether this thread has changed the cell since the last look.
    is_changed: Cell<bool>,
    /// So many calls in a row have changed it.
    calls: Cell<u32>,
    /// The update in whose function this one runs.
    outer: Cell<*const Update>,
}

/// Until this is dropped, the update is one of those that run. It borrows the update, whose address does not
/// change meanwhile.
pub(super) struct Running<'a>(&'a Update, PhantomData<*const ()>);

impl Update {
    pub(super) fn of<C>(cell: &C) -> Update {
        Update {
            cell: ptr::from_ref(cell).cast(),
            is_changed: Cell::new(false),
            calls: Cell::new(0),
            outer: Cell::new(ptr::null()),
        }
    }

    pub(super) fn enter(&self) -> Running<'_> {
        self.outer.set(RUNNING.replace(self));
        Running(self, PhantomData)
    }

    /// The cell had changed when the function had returned. Panics if that was so too often.
    #[track_caller]
    pub(super) fn failed(&self) {
        let calls = match self.is_changed.take() {
            true => self.calls.get() + 1,
            false => 0, // another thread was faster
        };
        self.calls.set(calls);
        assert!(
            calls < MOST,
            "an update of a cell never ends: its function has stored to the same cell in each of {MOST} \
             calls; it should return the value instead"
        );
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        RUNNING.set(self.0.outer.get());
    }
}

/// Notes that this thread has changed a cell.
#[inline(always)]
pub(super) fn note<C>(cell: &C) {
    let running = RUNNING.get();
    // The threads of a model share it.
    if !cfg!(quiescent_model) && !running.is_null() {
        note_in(running, ptr::from_ref(cell).cast());
    }
}

#[cold]
#[inline(never)]
fn note_in(mut update: *const Update, cell: *const ()) {
    // SAFETY: updates stay where they are while they run, and those that run are of this thread.
    while let Some(running) = unsafe { update.as_ref() } {
        if running.cell == cell {
            running.is_changed.set(true);
        }
        update = running.outer.get();
    }
}
