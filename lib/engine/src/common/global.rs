//! The engine's shared state, and its calls.
//!
//! A host keeps one [`Global`] a domain, under one lock. Calls come in four kinds:
//!
//! * **Requests**: [`wait_for_gp`](Global::wait_for_gp), [`start_poll`](Global::start_poll). A request and
//!   its whole grace period, if only the caller takes part: [`sole_gp`](Global::sole_gp).
//! * **Driving**: [`try_drive`](Global::try_drive), [`step`](Global::step), [`fenced`](Global::fenced),
//!   [`flagged`](Global::flagged), [`leave`](Global::leave), [`grow`](Global::grow),
//!   [`take_over`](Global::take_over), [`resume`](Global::resume).
//! * **Reports**: [`report_qs`](Global::report_qs), [`departed`](Global::departed),
//!   [`context_switch`](Global::context_switch), [`read_unlock`](Global::read_unlock),
//!   [`waiters_woken`](Global::waiters_woken).
//! * **Expedited grace periods**: `exp_*`, see [`exp`](crate::exp).
//! * **Queries**: [`poll`](Global::poll), [`holdouts`](Global::holdouts), [`published`](Global::published), …
//!
//! Time (`Now`) must never run backwards; the engine uses the later of the given time and the last known one.
//! Same inputs give the same outputs: the engine uses no clock, no randomness and no address.
//!
//! # The driver role
//! At most one caller drives. It calls `step` until [`Next`] says otherwise; between two steps the lock may
//! be dropped and every other call may be made. The engine asks a satisfied driver to leave
//! ([`Next::HandOver`], [`Next::Done`]); a driver that reaches a deadline leaves by itself, and the next
//! driver continues in the middle of the phase. A driver that makes no calls loses the role:
//! [`takeover`](crate::takeover).

use crate::common::config::{Config, Readers};
use crate::common::counts::Counts;
use crate::common::fqs::Wait;
use crate::common::host::{CpuId, LeafId, Next, Now, Pos};
use crate::common::parts::threads::{Duty, FenceCosts, Holding};
use crate::common::seq::Seq;
use crate::common::tree::{Tree, TreeError};
use crate::common::waiters::Waiters;

/// The phase of the grace period. Every phase can be continued by another driver; the cursors advance one
/// node a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// No grace period.
    Idle,
    /// Started; the fence before the first scan is still to come.
    Fence,
    /// Applying buffered arrivals and departures, leaf by leaf.
    Hotplug(LeafId),
    /// Setting up masks, node by node from the root.
    Init(usize),
    /// Waiting for holdouts.
    Wait(Wait),
    /// A force-quiescent-state scan is in progress at this leaf.
    Scan(LeafId),
    /// The grace period has ended; ending it at the nodes, from the root.
    Cleanup(usize),
    /// Ending the global sequence number.
    End,
}

/// The reason for driving, which determines when the driver is satisfied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Interest {
    /// A waiter, until its position is satisfied.
    Waiter(Pos),
    /// A poller: any end of a grace period satisfies it.
    Poller,
    /// A thread with callbacks that drives within another call: any end satisfies it, and it never spins,
    /// flags or sleeps. At a holdout it leaves at once.
    Passing,
}

/// The driver and its reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Driver {
    /// The CPU it runs on, if that CPU takes part.
    pub cpu: Option<CpuId>,
    pub interest: Interest,
}

/// The grace-period engine of one domain.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Global {
    pub(crate) config: Config,
    pub(crate) gp_seq: Seq,
    /// `RCU_GP_FLAG_INIT`: a grace period is requested.
    pub(crate) wanted: bool,
    pub(crate) phase: Phase,
    pub(crate) driver: Option<Driver>,
    /// How often the role was taken from a driver.
    pub(crate) driver_epoch: u32,
    /// The time of the first inspection since the driver's last call, in nanoseconds.
    pub(crate) silent_since: Option<u64>,
    /// The number of successive drivers that lost the role before a fence of theirs had ended, up to the
    /// number that makes a difference.
    pub(crate) lost_in_row: u8,
    /// The count that new sections join, where readers are [indexed](crate::indexed).
    pub(crate) joined: CpuId,
    pub(crate) tree: Option<Tree>,
    pub(crate) waiters: Waiters,
    pub(crate) fqs: crate::common::fqs::Fqs,
    pub(crate) stall: crate::common::stall::StallState,
    pub(crate) group: crate::common::worker_timer::WorkerTimer,
    pub(crate) budget: Holding,
    pub(crate) fences: FenceCosts,
    pub(crate) pool: Duty,
    pub(crate) now: Now,
    pub(crate) counts: Counts,
}

impl Global {
    /// An idle engine with no tree yet: the first driver has to [`grow`](Global::grow) one.
    pub const fn new(config: Config) -> Global {
        Global {
            config,
            gp_seq: Seq::INITIAL,
            wanted: false,
            phase: Phase::Idle,
            driver: None,
            driver_epoch: 0,
            silent_since: None,
            lost_in_row: 0,
            joined: 0,
            tree: None,
            waiters: Waiters::new(),
            fqs: crate::common::fqs::Fqs::new(),
            stall: crate::common::stall::StallState::new(),
            group: crate::common::worker_timer::WorkerTimer::new(),
            budget: Holding::new(),
            fences: FenceCosts::new(),
            pool: Duty::new(),
            now: Now { ns: 0 },
            counts: Counts::new(),
        }
    }

    // Requests.

    /// A caller that waits for a grace period: its position. A full fence precedes the call.
    pub fn wait_for_gp(&mut self, leaf: LeafId, expedited: bool) -> Pos {
        let ticket = self.waiters.push(expedited);
        self.request(leaf);
        ticket
    }

    /// The cookie for a full grace period from now, which is requested. A full fence precedes the call.
    pub fn start_poll(&mut self, leaf: LeafId) -> Seq {
        let cookie = self.gp_seq.snap();
        self.request(leaf);
        cookie
    }

    /// Requests a grace period that starts from now on.
    pub(crate) fn request(&mut self, leaf: LeafId) {
        let wanted = self.gp_seq.snap();
        self.wanted |= match &mut self.tree {
            None => true,
            Some(tree) => {
                // A thread in a leaf that is newer than the tree requests through the first leaf.
                let leaf = if leaf < tree.leaves() { leaf } else { 0 };
                tree.request(leaf, wanted, self.gp_seq)
            }
        };
    }

    /// Is this grace period requested, or in flight?
    pub fn is_coming(&self, leaf: LeafId, stamp: Seq) -> bool {
        let asked = |tree: &Tree| {
            let leaf = if leaf < tree.leaves() { leaf } else { 0 };
            let nodes = [0, tree.entry(leaf)];
            nodes
                .iter()
                .any(|&node| tree.nodes[node].gp_seq_needed.ge(stamp))
        };
        self.gp_seq.started(stamp) || self.tree.as_ref().map_or(self.wanted, asked)
    }

    // Driving.

    /// Takes the driver role if it is free. `cpu` is the CPU the caller runs on, if it takes part.
    pub fn try_drive(&mut self, cpu: Option<CpuId>, interest: Interest) -> bool {
        if self.driver.is_some() {
            return false;
        }
        self.driver = Some(Driver { cpu, interest });
        self.silent_since = None;
        self.lost_in_row = 0;
        true
    }

    /// Gives up the driver role, at any point but one: a driver that has set wake flags for
    /// [`Next::FlagHoldouts`] calls [`flagged`](Global::flagged) first. [`Next::HandOver`] if other waiters
    /// remain and one of them has to drive, otherwise [`Next::Done`].
    pub fn leave(&mut self) -> Next {
        self.driver = None;
        if self.waiters.any_waiting() {
            Next::HandOver
        } else {
            Next::Done
        }
    }

    /// Replaces the tree by a larger one, between grace periods.
    ///
    /// # Errors
    /// Gives the new tree back if a grace period of either kind is in flight, it is not larger, or it lacks a
    /// leaf at which preempted readers are queued. The old tree comes back in `Ok`, so that it can be freed
    /// with no lock held.
    #[allow(
        clippy::result_large_err,
        reason = "the tree goes back by value: a box would allocate under the host's lock"
    )]
    pub fn grow(&mut self, mut tree: Tree) -> Result<Option<Tree>, Tree> {
        if self.phase != Phase::Idle || tree.geometry().nr_cpus() <= self.cpus() {
            return Err(tree);
        }
        let needed = self
            .tree
            .as_ref()
            .map_or(self.gp_seq, |old| old.nodes[0].gp_seq_needed);
        tree.sparse = self.config.readers == Readers::Cpus;
        tree.adopt(self.gp_seq, needed);
        Ok(self.tree.replace(tree))
    }

    /// A tree of the engine's shape for [`grow`](Global::grow). Call it with no lock held.
    ///
    /// # Errors
    /// More CPUs than four levels hold, or no memory.
    pub fn new_tree(config: &Config, cpus: u32) -> Result<Tree, TreeError> {
        Tree::new(cpus, config.geometry)
    }

    /// In the child of a fork: the driver and the waiters were other threads, which the child does not have.
    ///
    /// A grace period in progress stays in its phase. Its next driver continues it, as after any driver that
    /// left; participants of the parent are seen outside, or absent. Requests and cookies stay valid. The
    /// timer is not set: the next caller that queues sets it. Counts start at 0 again, and so does the time
    /// after which a stall is reported.
    pub fn forked(&mut self) {
        let Global {
            driver,
            waiters,
            group,
            stall,
            budget,
            pool,
            counts,
            // Kept: the grace period in flight, its requests and cookies continue; so do times and costs.
            config: _,
            gp_seq: _,
            wanted: _,
            phase: _,
            driver_epoch: _,
            silent_since: _,
            lost_in_row: _,
            joined: _,
            tree: _,
            fqs: _,
            fences: _,
            now: _,
        } = self;
        *driver = None;
        waiters.forked();
        *group = crate::common::worker_timer::WorkerTimer::new();
        *stall = crate::common::stall::StallState::new();
        budget.unsaid();
        pool.forked();
        *counts = Counts::default();
    }
}

mod queries;
