//! The lane of code that its owner runs, under the lock: what the owner pops, and what takers find it running.

use std::ops::Range;

use quiescent_engine::Pos;

use super::{Core, OWN, Queue};
use crate::prim::Ordering;
use crate::queue::lane::Entry;

impl Queue {
    /// Pops up to two entries of code that the caller, the owner, runs. They are its own: the lock is held.
    pub fn pop_own(&self, core: &Core) -> [Option<Entry>; 2] {
        let words = &self.lanes[OWN];
        if core.chains[OWN].taken {
            return [None; 2];
        }
        let at = words.head.load(Ordering::Relaxed);
        let mut places = [Entry::NONE; 2];
        let count = words.pop_many(&mut places);
        if count > 0 {
            words.set_running(at, count as u64);
        }
        std::array::from_fn(|n| (n < count).then_some(places[n]))
    }

    /// The owner, which has been asked, has run what a taker found it running: returns that, once. A take-over
    /// that has begun may still find what the owner runs next, so it asks on.
    pub fn answer(&self, core: &mut Core) -> Range<Pos> {
        let asks = u32::from(core.revoking);
        self.lanes[OWN].asks.store(asks, Ordering::Relaxed);
        std::mem::replace(&mut core.out, 0..0)
    }

    /// The number of entries that the owner has popped and is running: from now on they are out, and the
    /// owner, which finds that it was asked, reports them. Those that it is about to undo do not count, nor
    /// those of an earlier call. `[RUN-1]`
    pub(super) fn found_running(&self, core: &mut Core) -> u64 {
        let running = self.lanes[OWN].running();
        if !core.out.is_empty() || running.start >= core.chains[OWN].seen {
            return 0;
        }
        core.out = running.clone();
        running.end - running.start
    }
}
