//! Questions to the engine that change nothing.

use super::{Global, Phase};
use crate::periods::config::Config;
use crate::periods::counts::Counts;
use crate::periods::host::{CpuId, Published};
use crate::periods::polled::Polled;
use crate::periods::tree::Tree;
use crate::periods::waiters::Waiters;
use quiescent_engine::seq::Seq;

impl Global {
    /// The counter of the single-word cookies, which merges both kinds of grace periods.
    pub fn polled(&self) -> &Polled {
        &self.polled
    }

    /// The waiter positions.
    pub fn waiters(&self) -> &Waiters {
        &self.waiters
    }

    /// May a kernel's caller of `synchronize_rcu` wait in [`wait_for_gp`](Global::wait_for_gp)? If the latch
    /// of [`wait_latch`](Config::wait_latch) is set, it waits for a callback that it queues.
    pub fn takes_waiters(&self) -> bool {
        !self.waiters.is_latched()
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

    /// The tree, once there is one.
    pub fn tree(&self) -> Option<&Tree> {
        self.tree.as_ref()
    }

    /// The number of CPUs that the tree has room for.
    pub fn cpus(&self) -> u32 {
        self.tree
            .as_ref()
            .map_or(0, |tree| tree.geometry().nr_cpus())
    }

    /// The CPUs that still owe a quiescent state; empty unless the grace period is waiting or scanning.
    pub fn holdouts(&self) -> impl Iterator<Item = CpuId> + '_ {
        let tree = match self.phase {
            Phase::Wait | Phase::Scan(_) => self.tree.as_ref(),
            _ => None,
        };
        tree.into_iter().flat_map(Tree::holdouts)
    }

    /// Sequence numbers for lock-free polls.
    pub fn published(&self) -> Published {
        Published {
            global: self.gp_seq,
            root: self.root_seq(),
        }
    }

    /// Is a grace period in progress or requested?
    pub fn busy(&self) -> bool {
        self.phase != Phase::Idle || self.wanted
    }

    pub(crate) fn root_seq(&self) -> Seq {
        self.tree
            .as_ref()
            .map_or(self.gp_seq, |tree| tree.nodes[0].gp_seq)
    }
}
