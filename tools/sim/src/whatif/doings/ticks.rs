//! Whose ticks on idle CPUs were: RCU's, or those of timers of which nothing else is known.

use quiescent_kernel::CpuId;

/// The grace-period thread wakes up within this time of its timer, in nanoseconds.
pub(super) const CLAIM: u64 = 100_000;

/// Ticks so near to each other are of one jiffy, in nanoseconds.
pub(super) const ONE_JIFFY: u64 = 300_000;

/// Ticks of one jiffy.
#[derive(Debug, Default)]
pub(super) struct Instant {
    pub(super) at: u64,
    /// Idle CPUs that had one.
    pub(super) idle: Vec<CpuId>,
    /// A timer was taken that is none of RCU's: in time, or late, as one that may be deferred.
    pub(super) outside: bool,
    pub(super) late: bool,
    /// A timer of RCU's was taken.
    pub(super) rcu: bool,
    /// A timer that may be the grace-period thread's was taken then.
    pub(super) timeout: Option<u64>,
}

impl Instant {
    /// The owners of ticks, once all events of their instant are known.
    pub(super) fn over(&mut self, out: &mut Vec<(CpuId, u64)>) {
        let others = self.outside || self.timeout.is_some();
        if others || (self.late && !self.rcu) {
            out.extend(self.idle.iter().map(|&cpu| (cpu, self.at)));
        }
        *self = Instant::default();
    }
}
