//! Inspection of a queue that does not change its content.

use quiescent_engine::budget::Held;
use quiescent_engine::cpu::Lane as Which;

use super::{Queue, QueueCore};
use crate::prim::Ordering;

impl Queue {
    /// What the owner has pushed since the last report: an estimate, since it may be pushing now.
    pub fn unreported(&self, core: &QueueCore) -> Held {
        let mut all = Held::default();
        for ((words, chain), lane) in self.lanes.iter().zip(&core.chains).zip(Which::ALL) {
            let end = words.end.load(Ordering::Relaxed);
            all.count += end.saturating_sub(core.cpu.list(lane).end());
            all.bytes += chain.given.wrapping_sub(words.left.load(Ordering::Relaxed));
        }
        all
    }
}
