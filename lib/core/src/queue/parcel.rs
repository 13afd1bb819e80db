//! An item to be queued that is in no queue yet.

use std::ptr::NonNull;

use crate::queue::intrusive::{Head, RunHead};
use crate::queue::lane::Entry;

/// A function that returns the name of a callback's type.
pub type Name = fn() -> &'static str;

/// An intrusive callback that is in no queue yet.
pub struct Callback {
    pub(crate) head: NonNull<Head>,
    pub(crate) run: RunHead,
}

impl Callback {
    /// # Safety
    /// The head does not move, and no other code uses it, until `run` has been called with it, which may be
    /// in any thread.
    pub unsafe fn new(head: NonNull<Head>, run: RunHead) -> Callback {
        Callback { head, run }
    }
}

/// An item to be queued that is in no queue yet.
pub enum Parcel {
    /// An entry of a lane, with its bytes.
    Entry(usize, Entry, u64),
    /// An intrusive callback.
    Head(Callback),
}

// SAFETY: entries and heads are under their callers' promise to be Send.
unsafe impl Send for Parcel {}
