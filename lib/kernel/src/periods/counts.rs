//! Counters of the engine's actions.

use crate::periods::global::Global;

/// Counters of the engine's actions. They only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Counts {
    /// Grace periods ended.
    pub grace_periods: u64,
    /// Expedited grace periods ended.
    pub expedited: u64,
    /// Force-quiescent-state scans begun.
    pub scans: u64,
    /// Leaves visited by scans.
    pub leaves_scanned: u64,
    /// Pieces of grace periods done, one for each node, leaf or wait ([`Global::step`](crate::Global::step)).
    pub steps: u64,
    /// How often a stall report was due: see [`stall`](crate::stall).
    pub stalls: u64,
    /// Holdouts that a later scan found absent and credited: each is a departure without a report
    /// ([`Global::departed`](crate::Global::departed)), a defect of the host.
    pub offline_holdouts: u64,
}

impl Counts {
    pub(crate) const fn new() -> Counts {
        Counts {
            grace_periods: 0,
            expedited: 0,
            scans: 0,
            leaves_scanned: 0,
            steps: 0,
            stalls: 0,
            offline_holdouts: 0,
        }
    }
}

impl Global {
    /// For checkers that keep whole states: resets state on which no later decision depends, so that states
    /// which differ only in it are equal. Counts become zero, and the tick counter becomes zero with the next
    /// scan's tick; other times in ticks are moved by the same amount.
    pub fn forget_history(&mut self) {
        self.counts = Counts::new();
        let ticks = core::mem::take(&mut self.now.jiffies);
        self.fqs.force_at = self.fqs.force_at.saturating_sub(ticks);
        self.exp.hold_ticks_at = self.exp.hold_ticks_at.map(|at| at.saturating_sub(ticks));
    }
}
