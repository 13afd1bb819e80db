//! The owner's access to its queue, and what it has pushed there.

use std::ptr;

use super::{Queue, QueueCore};
use crate::prim::{AtomicPtr, Ordering};
use crate::queue::lane::Block;
use crate::queue::meter::Meter;

impl Queue {
    /// The cell in which its owner finds it without a lock; none for a queue of the process's domain, whose
    /// address is in the thread's local.
    pub fn found_at(&self) -> Option<&'static AtomicPtr<Queue>> {
        // SAFETY: null, or a cell in a reader record; records live forever.
        unsafe { self.found_at.load(Ordering::Relaxed).as_ref() }
    }

    /// The meter of what is queued.
    pub fn meter(&self) -> &'static Meter {
        &self.common.get().meter
    }

    /// The dummy's block, whose content is unused.
    pub fn nothing(&self) -> *mut Block {
        ptr::from_ref(self.common.get().nothing).cast_mut()
    }

    /// True for the queue of threads that have none.
    #[inline]
    pub fn is_dummy(&self) -> bool {
        // SAFETY: an address inside what lives forever; nothing is read.
        ptr::eq(self, unsafe { &raw const (*self.common.place()).dummy })
    }

    /// True if a thread works on the lanes' words without the lock.
    pub fn is_attached(core: &QueueCore) -> bool {
        core.owned
    }

    /// Number of entries pushed so far.
    pub fn pushed(&self) -> u64 {
        let ends = self.lanes.iter();
        ends.map(|words| words.end.load(Ordering::Relaxed)).sum()
    }

    /// True if the last push went to the dummy block, for lack of memory: it has to be undone, and the caller
    /// still has its entry.
    pub fn is_starved(&self, lane: usize) -> bool {
        ptr::eq(
            self.lanes[lane].block.load(Ordering::Relaxed),
            self.nothing(),
        )
    }

    /// Undoes the last push, which went to the dummy block.
    pub fn unpush(&self, lane: usize, bytes: u64) {
        let words = &self.lanes[lane];
        let end = words.end.load(Ordering::Relaxed);
        words.end.store(end - 1, Ordering::Release);
        let left = words.left.load(Ordering::Relaxed);
        words
            .left
            .store(left.wrapping_add(bytes), Ordering::Relaxed);
    }
}
