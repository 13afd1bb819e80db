//! The engine's shared state, and its calls.
//!
//! A host keeps one [`Global`], under one lock. Calls come in five kinds:
//!
//! * **Requests**: [`wait_for_gp`](Global::wait_for_gp), [`start_poll`](Global::start_poll).
//! * **Driving**: [`try_drive`](Global::try_drive), [`step`](Global::step), [`fenced`](Global::fenced),
//!   [`leave`](Global::leave), [`grow`](Global::grow).
//! * **Reports**: [`report_qs`](Global::report_qs), [`departed`](Global::departed),
//!   [`context_switch`](Global::context_switch), [`read_unlock`](Global::read_unlock),
//!   [`waiters_woken`](Global::waiters_woken).
//! * **Expedited grace periods**: `exp_*`, see [`exp`](crate::exp).
//! * **Queries**: [`poll`](Global::poll), [`holdouts`](Global::holdouts), [`published`](Global::published), …
//!
//! Time (`Now`) must never run backwards; the engine uses the later of the given time and the last known one.
//! Same inputs give the same outputs: the engine uses no clock, no randomness and no address.
//!
//! # The driver
//! The grace-period thread drives: it calls `step`, and does what [`Next`] says. Between two steps the lock
//! may be dropped and every other call may be made. When the thread moves to another CPU it leaves the role
//! and takes it again there, in the middle of any phase.

use crate::periods::config::Config;
use crate::periods::counts::Counts;
use crate::periods::event::{Event, GpEvent, SrEvent};
use crate::periods::host::{CpuId, Effects, Host, LeafId, Next, Now, Nudge, Pos};
use crate::periods::parts::Pressing;
use crate::periods::polled::{FullCookie, Polled};
use crate::periods::tree::{Tree, TreeError};
use crate::periods::waiters::Waiters;
use quiescent_engine::seq::Seq;

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
    Wait,
    /// A force-quiescent-state scan is in progress at this leaf.
    Scan(LeafId),
    /// The grace period has ended; ending it at the nodes, from the root.
    Cleanup(usize),
    /// Ending the global sequence number.
    End,
}

/// The driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Driver {
    /// The CPU it runs on, if that CPU takes part.
    pub cpu: Option<CpuId>,
}

/// The grace-period engine of a machine.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Global {
    pub(crate) config: Config,
    pub(crate) gp_seq: Seq,
    pub(crate) exp_seq: Seq,
    pub(crate) exp: crate::periods::exp::Exp,
    pub(crate) polled: Polled,
    /// `RCU_GP_FLAG_INIT`: a grace period is requested.
    pub(crate) wanted: bool,
    /// `RCU_GP_FLAG_FQS`: scan now, do not wait.
    pub(crate) force: bool,
    pub(crate) phase: Phase,
    pub(crate) driver: Option<Driver>,
    pub(crate) tree: Option<Tree>,
    pub(crate) tasks: crate::periods::blocked::Tasks,
    pub(crate) waiters: Waiters,
    pub(crate) fqs: crate::periods::fqs::Fqs,
    pub(crate) urgency: Pressing,
    pub(crate) stall: crate::periods::stall::StallState,
    /// The nesting of requests to hurry all later callbacks ([`offload`](crate::offload)).
    pub(crate) hurry: u32,
    pub(crate) now: Now,
    pub(crate) counts: Counts,
}

impl Global {
    /// An idle engine with no tree yet: the first driver has to [`grow`](Global::grow) one.
    pub const fn new(config: Config) -> Global {
        Global {
            config,
            gp_seq: Seq::INITIAL,
            exp_seq: Seq::ZERO,
            exp: crate::periods::exp::Exp::new(),
            polled: Polled::new(),
            wanted: false,
            force: false,
            phase: Phase::Idle,
            driver: None,
            tree: None,
            tasks: crate::periods::blocked::Tasks::none(),
            waiters: Waiters::new(),
            fqs: crate::periods::fqs::Fqs::new(),
            urgency: Pressing::new(),
            stall: crate::periods::stall::StallState::new(),
            hurry: 1,
            now: Now { ns: 0, jiffies: 0 },
            counts: Counts::new(),
        }
    }

    // Requests.

    /// A `synchronize` caller: takes a position that is satisfied by a grace period that starts
    /// after this call. The caller has executed a full fence between its last update and the call.
    ///
    /// `leaf` is the leaf at which the request enters the tree: the caller's own, or 0. O(levels).
    pub fn wait_for_gp(&mut self, leaf: LeafId, host: &impl Host) -> (Pos, Effects) {
        let ticket = self.waiters.push(self.config.wait_latch);
        host.trace(&Event::SrNormal {
            waiter: ticket,
            event: SrEvent::Request,
        });
        (ticket, self.requested(leaf, host))
    }

    /// Requests a grace period and returns the cookie that it will satisfy. Same fence rule and cost as
    /// [`wait_for_gp`](Global::wait_for_gp). May request one grace period too many if one ended at the same
    /// time, never one too few.
    pub fn start_poll(&mut self, leaf: LeafId, host: &impl Host) -> (FullCookie, Effects) {
        let cookie = FullCookie::take(self.gp_seq, self.exp_seq);
        (cookie, self.requested(leaf, host))
    }

    fn requested(&mut self, leaf: LeafId, host: &impl Host) -> Effects {
        Effects {
            wake_gp: self.request(leaf, host),
            ..Effects::only(Next::Done)
        }
    }

    /// Has a full grace period passed since the cookie was taken? Reads the root's copy, which comes first.
    pub fn poll(&self, cookie: FullCookie) -> bool {
        cookie.done(self.root_seq(), self.exp_seq)
    }

    /// Records a request in the tree; true if the grace-period thread has to be woken.
    pub(crate) fn request(&mut self, leaf: LeafId, host: &impl Host) -> bool {
        let wanted = self.gp_seq.snap();
        let Some(tree) = &mut self.tree else {
            self.wanted = true;
            return true;
        };
        // A CPU in a leaf that is newer than the tree requests through the first leaf.
        let leaf = if leaf < tree.leaves() { leaf } else { 0 };
        let reached = tree.request(leaf, wanted, self.gp_seq, host);
        if reached {
            self.wanted = true;
            self.trace_gp(GpEvent::Newreq, host);
        }
        reached
    }

    /// Has a grace period that ends at `stamp` or later begun or ended? "No" may be out of date.
    pub fn is_coming(&self, leaf: LeafId, stamp: Seq) -> bool {
        let asked = |tree: &Tree| {
            let leaf = if leaf < tree.leaves() { leaf } else { 0 };
            let nodes = [0, tree.leaf_node(leaf)];
            nodes
                .iter()
                .any(|&node| tree.nodes[node].gp_seq_needed.ge(stamp))
        };
        self.gp_seq.started(stamp) || self.tree.as_ref().map_or(self.wanted, asked)
    }

    // Driving.

    /// Takes the driver role if it is free. `cpu` is the CPU the caller runs on, if it takes part.
    pub fn try_drive(&mut self, cpu: Option<CpuId>) -> bool {
        let free = self.driver.is_none();
        if free {
            self.driver = Some(Driver { cpu });
        }
        free
    }

    /// Gives up the driver role, at any point.
    pub fn leave(&mut self) {
        self.driver = None;
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
        let in_flight = self.phase != Phase::Idle || self.exp_in_flight();
        if in_flight || tree.geometry().nr_cpus() <= self.cpus() {
            return Err(tree);
        }
        let needed = self
            .tree
            .as_ref()
            .map_or(self.gp_seq, |old| old.nodes[0].gp_seq_needed);
        if self
            .tree
            .as_ref()
            .is_some_and(|old| !tree.adopt_leaves(old))
        {
            return Err(tree);
        }
        tree.adopt(self.gp_seq, needed, self.exp_seq);
        if let Some(old) = &self.tree {
            tree.inherit(old);
        }
        Ok(self.tree.replace(tree))
    }

    /// A tree of the engine's shape for [`grow`](Global::grow). Call it with no lock held.
    ///
    /// # Errors
    /// More CPUs than four levels hold, or no memory.
    pub fn new_tree(config: &Config, cpus: u32) -> Result<Tree, TreeError> {
        let mut tree = Tree::new(cpus, config.geometry)?;
        if config.escalation.is_some() {
            tree.keep_asked()?;
        }
        Ok(tree)
    }

    // Reports.

    /// `cpu` itself reports a quiescent state that it noted under the number `noted`. A state noted for
    /// another grace period does not count.
    pub fn report_qs(&mut self, cpu: CpuId, noted: Seq, host: &impl Host) -> Effects {
        let place = self.tree.as_ref().and_then(|tree| {
            let (leaf, bit) = tree.place_of(cpu)?;
            Some((tree.leaf_node(leaf), 1 << bit))
        });
        let Some((node, mask)) = place else {
            return Effects::only(Next::Done);
        };
        let mut nudge = None;
        let effects = self.reported(|tree| {
            if tree.nodes[node].gp_seq == noted {
                let mut eased = Nudge {
                    lo: tree.nodes[node].lo,
                    ..Default::default()
                };
                tree.ease(eased.lo, mask, &mut eased);
                nudge = (eased.stop_tick != 0).then_some(eased);
            }
            tree.report(node, mask, noted, host);
        });
        Effects { nudge, ..effects }
    }

    /// A report from outside the grace-period thread: if it was the last one, that thread has to be woken.
    pub(crate) fn reported(&mut self, report: impl FnOnce(&mut Tree)) -> Effects {
        let tree = self.tree.as_mut().expect("a report has a node");
        let owed = !tree.all_quiescent();
        report(tree);
        let wake_gp = owed && tree.all_quiescent();
        self.force |= wake_gp;
        Effects {
            wake_gp,
            ..Effects::only(Next::Done)
        }
    }

    /// `cpu` leaves: it is outside every section for good, and is reported quiescent before its absence shows
    /// in [`Host::present`].
    ///
    /// Between this call and the clearing of the presence bit no step may visit the CPU's leaf or set it up
    /// ([`Phase::Hotplug`], [`Phase::Init`]): the report would be ignored and the CPU would count as a
    /// participant. A kernel has a lock for it; keeping the engine's lock is enough. A missed departure is
    /// credited by a later scan and counted ([`Counts::offline_holdouts`]).
    pub fn departed(&mut self, cpu: CpuId, host: &impl Host) -> Effects {
        let seq = self.gp_seq;
        Effects {
            wake_exp: self.report_exp_cpu(cpu),
            ..self.report_qs(cpu, seq, host)
        }
    }

    /// The work item has woken every waiter below `pos`.
    ///
    /// # Panics
    /// If the grace period of some of them has not ended.
    pub fn waiters_woken(&mut self, pos: Pos) {
        self.waiters.waiters_woken(pos);
    }
}

mod queries;
