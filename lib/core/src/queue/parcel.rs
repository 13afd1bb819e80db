//! An item to be queued that is in no queue yet.

use std::ptr::NonNull;

use crate::queue::intrusive::{self, Head, RunHead};
use crate::queue::kind;
use crate::queue::lane::Entry;
use crate::queue::per_thread::{CODE, OWN};

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

impl Parcel {
    /// The name of its type, unless it is memory.
    pub fn name(&self) -> Option<Name> {
        match *self {
            // SAFETY: an entry of a lane of code.
            Parcel::Entry(OWN | CODE, entry, _) => Some(unsafe { kind::kind(entry.what) }.name),
            Parcel::Entry(..) => None,
            Parcel::Head(..) => Some(intrusive::head_name),
        }
    }
}

// SAFETY: entries and heads are under their callers' promise to be Send.
unsafe impl Send for Parcel {}
