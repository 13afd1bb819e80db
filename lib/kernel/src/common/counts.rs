//! Counters of the engine's actions.

use crate::common::global::Global;
use crate::common::parts::threads::Flushes;

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
    /// Grace periods that needed no fence, because only the driver took part.
    pub sole: u64,
    /// How often new sections were directed to the other count ([`indexed`](crate::indexed)).
    pub turns: u64,
    /// How often a stall report was due: see [`stall`](crate::stall).
    pub stalls: u64,
    /// Takeovers of the role from a driver that made no calls.
    pub takeovers: u64,
    /// How often the budget was exceeded.
    pub over_budget: u64,
    /// Holdouts that a later scan found absent and credited: each is a departure without a report
    /// ([`Global::departed`](crate::Global::departed)), a defect of the host.
    pub offline_holdouts: u64,
    /// How often low memory was acted upon ([`take_pressure`](crate::Global::take_pressure)).
    pub pressure: u64,
    /// How often the overflow worker was called ([`pool`](crate::pool)).
    pub backlogs: u64,
    /// How often callbacks were flushed, by cause.
    pub flushes: Flushes,
}

impl Counts {
    pub(crate) const fn new() -> Counts {
        Counts {
            grace_periods: 0,
            expedited: 0,
            scans: 0,
            leaves_scanned: 0,
            steps: 0,
            sole: 0,
            turns: 0,
            stalls: 0,
            takeovers: 0,
            over_budget: 0,
            offline_holdouts: 0,
            pressure: 0,
            backlogs: 0,
            flushes: Flushes::new(),
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
