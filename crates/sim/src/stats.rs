//! What a run has shown.

use quiescent_engine::CpuId;

/// A grace period.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GracePeriod {
    /// When it started, in nanoseconds.
    pub start: u64,
    /// When it ended.
    pub end: u64,
    /// Scans that it took.
    pub scans: u32,
    /// Who was in the way after the first scan.
    pub holdouts: Vec<CpuId>,
}

/// A call of `synchronize_rcu`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Synchronized {
    /// When it was made, in nanoseconds.
    pub start: u64,
    /// When it returned.
    pub end: u64,
}

/// A callback's function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Func {
    /// Its name.
    pub name: String,
    /// Callbacks queued.
    pub queued: u64,
    /// Callbacks invoked.
    pub invoked: u64,
    /// How long each of those waited, in nanoseconds.
    pub delays: Vec<u64>,
}

/// Counters. Only ever grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Ticks that hit a CPU in the idle loop.
    pub idle_ticks: u64,
    /// All other ticks.
    pub busy_ticks: u64,
    /// Passes of the idle loop.
    pub idle_entries: u64,
    /// Interrupts sent to other CPUs.
    pub ipis: u64,
    /// RCU's soft interrupts.
    pub softirqs: u64,
    /// Batches of callbacks.
    pub batches: u64,
    /// CPU time that RCU took, in nanoseconds: its threads, soft interrupts and callbacks.
    pub rcu_ns: u64,
}

/// What a run has shown, within its window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// From when on things count, in nanoseconds.
    pub from: u64,
    /// Until when.
    pub until: u64,
    /// Counters.
    pub totals: Totals,
    /// Grace periods that ended in it.
    pub grace_periods: Vec<GracePeriod>,
    /// Calls that returned in it.
    pub calls: Vec<Synchronized>,
    /// By function.
    pub funcs: Vec<Func>,
    /// Wake-ups, by task.
    pub wakeups: Vec<(String, u64)>,
}

impl Stats {
    pub(crate) fn counts(&self, now: u64) -> bool {
        self.from <= now && now < self.until
    }

    /// Seconds of the window.
    pub fn seconds(&self) -> f64 {
        (self.until - self.from) as f64 / 1e9
    }

    /// Wake-ups of tasks whose name begins so.
    pub fn wakeups_of(&self, prefix: &str) -> u64 {
        let those = self.wakeups.iter().filter(|it| it.0.starts_with(prefix));
        those.map(|it| it.1).sum()
    }
}
