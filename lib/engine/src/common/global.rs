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

use crate::common::config::Config;
use crate::common::counts::Counts;
use crate::common::fqs::Wait;
use crate::common::host::{CpuId, LeafId, Next, Now, Pos};
use crate::common::leaves::{Leaves, OutOfMemory};
use crate::common::parts::threads::{Duty, FenceCosts, Holding};
use crate::common::seq::Seq;
use crate::common::waiters::Waiters;

/// The phase of the grace period. Every phase can be continued by another driver; the cursors advance one
/// node a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// No grace period.
    Idle,
    /// Started; the fence before the first scan is still to come.
    Fence,
    /// Finding the readers that take part, leaf by leaf.
    Start(LeafId),
    /// Waiting for holdouts.
    Wait(Wait),
    /// A force-quiescent-state scan is in progress at this leaf.
    Scan(LeafId),
    /// No reader is left to wait for.
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
    /// The furthest grace period that is requested.
    pub(crate) needed: Seq,
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
    pub(crate) leaves: Option<Leaves>,
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
            needed: Seq::INITIAL,
            phase: Phase::Idle,
            driver: None,
            driver_epoch: 0,
            silent_since: None,
            lost_in_row: 0,
            joined: 0,
            leaves: None,
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
    pub fn wait_for_gp(&mut self, expedited: bool) -> Pos {
        self.request();
        self.waiters.push(expedited)
    }

    /// The cookie for a full grace period from now, which is requested. A full fence precedes the call.
    pub fn start_poll(&mut self) -> Seq {
        self.request();
        self.gp_seq.snap()
    }

    /// Requests a grace period that starts from now on.
    pub(crate) fn request(&mut self) {
        let wanted = self.gp_seq.snap();
        if !self.needed.ge(wanted) {
            self.needed = wanted;
        }
    }

    /// Has a grace period to be started?
    pub(crate) fn wanted(&self) -> bool {
        !self.gp_seq.ge(self.needed)
    }

    /// Is this grace period requested, or in flight?
    pub fn is_coming(&self, stamp: Seq) -> bool {
        self.gp_seq.started(stamp) || self.needed.ge(stamp)
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

    /// Replaces the leaves by more of them, between grace periods.
    ///
    /// # Errors
    /// Gives the new ones back if a grace period is in flight or they are not more. The old ones come back in
    /// `Ok`, so that they can be freed with no lock held.
    pub fn grow(&mut self, leaves: Leaves) -> Result<Option<Leaves>, Leaves> {
        if self.phase != Phase::Idle || leaves.cpus() <= self.cpus() {
            return Err(leaves);
        }
        Ok(self.leaves.replace(leaves))
    }

    /// Leaves for [`grow`](Global::grow). Call it with no lock held.
    ///
    /// # Errors
    /// No memory.
    pub fn new_leaves(config: &Config, cpus: u32) -> Result<Leaves, OutOfMemory> {
        Leaves::new(cpus, config.leaf)
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
            needed: _,
            phase: _,
            driver_epoch: _,
            silent_since: _,
            lost_in_row: _,
            joined: _,
            leaves: _,
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
