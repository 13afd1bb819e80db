//! How a queue's owner finds it, and what it has pushed there.

use std::ptr;

use super::{Core, Queue};
use crate::inner::prim::{self, Ordering};

impl Queue {
    /// Its owner, the calling thread, finds it from now on without a lock, or does not. Only an attached one.
    pub(crate) fn show(&'static self, is_shown: bool) {
        // SAFETY: null, or a place in a reader record, and those live for ever.
        let place = unsafe { self.found_at.load(Ordering::Relaxed).as_ref() };
        let queue = ptr::from_ref(self).cast_mut();
        match (place, is_shown) {
            (Some(place), true) => place.store(queue, Ordering::Relaxed),
            (Some(place), false) => place.store(ptr::null_mut(), Ordering::Relaxed),
            (None, true) => prim::set_queue(self),
            (None, false) => prim::set_queue(prim::dummy_queue()),
        }
    }

    /// Is it the one of threads that have none?
    pub(crate) fn is_dummy(&self) -> bool {
        ptr::eq(self, prim::dummy_queue())
    }

    /// Does a thread work on the lanes' words without the lock?
    pub(crate) fn is_attached(core: &Core) -> bool {
        core.owned
    }

    /// Entries pushed so far.
    pub(crate) fn pushed(&self) -> u64 {
        let ends = self.lanes.iter();
        ends.map(|words| words.end.load(Ordering::Relaxed)).sum()
    }

    /// A push into the dummy block, for want of memory, is undone: its entry is in the caller's hands.
    pub(crate) fn is_starved(&self, lane: usize) -> bool {
        ptr::eq(
            self.lanes[lane].block.load(Ordering::Relaxed),
            prim::dummy_block(),
        )
    }

    /// Takes back the last push, which went to the dummy block.
    pub(crate) fn unpush(&self, lane: usize, bytes: u64) {
        let words = &self.lanes[lane];
        let end = words.end.load(Ordering::Relaxed);
        words.end.store(end - 1, Ordering::Release);
        let left = words.left.load(Ordering::Relaxed);
        words
            .left
            .store(left.wrapping_add(bytes), Ordering::Relaxed);
    }
}
