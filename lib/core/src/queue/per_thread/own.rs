//! The lane of code that its owner runs: its operations under the queue's lock. The owner pops entries, and
//! takers find out which entries the owner is running.

use std::ops::Range;

use quiescent_engine::Pos;

use super::{OWN, Queue, QueueCore};
use crate::prim::Ordering;
use crate::queue::lane::Entry;

impl Queue {
    /// Pops up to two entries of code that the caller, the owner, then runs. No taker can claim them, because
    /// the caller holds the lock.
    #[inline(never)]
    pub fn pop_own(&self, core: &QueueCore) -> [Option<Entry>; 2] {
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

    /// The owner was asked for a report, and has run the entries that a taker found it running: returns them,
    /// once. While a take-over is in progress `asks` stays set, because that take-over may still find the
    /// entries which the owner runs next.
    pub fn answer(&self, core: &mut QueueCore) -> Range<Pos> {
        let asks = u32::from(core.revoking);
        self.lanes[OWN].asks.store(asks, Ordering::Relaxed);
        std::mem::replace(&mut core.out, 0..0)
    }

    /// The number of entries that the owner has popped and is running. From now on they count as out, and the
    /// owner reports them when it finds `asks`. Entries whose pop the owner is about to undo do not count,
    /// nor do those that an earlier call has found. `[RUN-1]`
    pub(super) fn found_running(&self, core: &mut QueueCore) -> u64 {
        let running = self.lanes[OWN].running();
        if !core.out.is_empty() || running.start >= core.chains[OWN].seen {
            return 0;
        }
        core.out = running.clone();
        running.end - running.start
    }
}
