//! Questions to the engine that change nothing.

use super::{Global, Phase};
use crate::common::config::Config;
use crate::common::counts::Counts;
use crate::common::host::CpuId;
use crate::common::leaves::Leaves;
use crate::common::seq::Seq;
use crate::common::waiters::Waiters;

impl Global {
    /// The waiter positions.
    pub fn waiters(&self) -> &Waiters {
        &self.waiters
    }

    /// The phase, for diagnosis and checkers.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Is there a driver?
    pub fn is_driven(&self) -> bool {
        self.driver.is_some()
    }

    /// The configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Counters.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Counts from zero, for another owner.
    pub fn reset_counts(&mut self) {
        self.counts = Counts::default();
    }

    /// The number of CPUs that there is room for.
    pub fn cpus(&self) -> u32 {
        self.leaves.as_ref().map_or(0, Leaves::cpus)
    }

    /// The CPUs that still owe a quiescent state; empty unless the grace period is waiting or scanning. Of
    /// two [counts](crate::indexed) only the one that is being waited for.
    pub fn holdouts(&self) -> impl Iterator<Item = CpuId> + '_ {
        let leaves = match self.phase {
            Phase::Wait(_) | Phase::Scan(_) => self.leaves.as_ref(),
            _ => None,
        };
        leaves
            .into_iter()
            .flat_map(Leaves::holdouts)
            .filter(|&cpu| !self.is_joined(cpu))
    }

    /// Sequence numbers for lock-free polls.
    pub fn published(&self) -> Seq {
        self.gp_seq
    }

    /// Is a grace period in progress or requested?
    pub fn busy(&self) -> bool {
        self.phase != Phase::Idle || self.wanted()
    }
}
