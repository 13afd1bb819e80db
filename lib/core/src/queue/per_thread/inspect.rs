//! Inspection of a queue that does not change its content.

use quiescent_engine::cpu::Lane as Which;

use super::{CODE, Core, Queue};
use crate::prim::Ordering;

impl Queue {
    /// Number of entries that the owner has pushed since the last report: an estimate, since it may be
    /// pushing now.
    pub fn unreported(&self, core: &Core) -> u64 {
        let ends = self.lanes.iter().zip(Which::ALL);
        ends.map(|(words, lane)| {
            let end = words.end.load(Ordering::Relaxed);
            end.saturating_sub(core.cpu.list(lane).end())
        })
        .sum()
    }

    /// In a domain that runs callbacks inline: publishes which callbacks are done. The owner compares `head`
    /// and `done` of this lane, and then takes the lock; no invariant depends on them.
    pub fn hint(&self, core: &Core) {
        let (words, list) = (&self.lanes[CODE], core.cpu.list(Which::Code));
        words.head.store(list.head(), Ordering::Relaxed);
        words.done.store(list.done_end(), Ordering::Relaxed);
    }
}
