//! Inspection of a queue that does not change its content.

use quiescent_engine::cpu::Lane as Which;

use super::{Core, Queue};
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
}
