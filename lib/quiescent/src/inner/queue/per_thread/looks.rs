//! Looks at a queue that change nothing of what it holds.

use quiescent_engine::cpu::Lane as Which;

use super::{CODE, Core, Queue};
use crate::inner::prim::Ordering;

impl Queue {
    /// What the owner has pushed since the engine was last told: an estimate, it may be pushing now.
    pub(crate) fn unreported(&self, core: &Core) -> u64 {
        let ends = self.lanes.iter().zip(Which::ALL);
        ends.map(|(words, lane)| {
            let end = words.end.load(Ordering::Relaxed);
            end.saturating_sub(core.cpu.list(lane).end())
        })
        .sum()
    }

    /// In a domain that runs callbacks inline: which ones are done. The owner looks at `head` and `done`
    /// of this lane, and then takes the lock; nothing depends on them.
    pub(crate) fn hint(&self, core: &Core) {
        let (words, list) = (&self.lanes[CODE], core.cpu.list(Which::Code));
        words.head.store(list.head(), Ordering::Relaxed);
        words.done.store(list.done_end(), Ordering::Relaxed);
    }
}
