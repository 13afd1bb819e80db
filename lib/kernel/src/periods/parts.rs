//! State of a [`Cpu`](crate::Cpu) and a [`Global`](crate::Global) for `actions/`, which has the decisions.

use crate::periods::host::LeafId;
use quiescent_engine::seq::Seq;

/// The quiescent state that a CPU owes, as far as the CPU has noticed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Qs {
    /// `core_needs_qs`: the grace period that it has noticed waits for it.
    pub needed: bool,
    /// `cpu_no_qs.norm`: no quiescent state has been noted since it noticed that grace period.
    pub missing: bool,
    /// `ticks_this_gp`: ticks since it noticed that grace period.
    pub ticks: u32,
}

impl Qs {
    /// Nothing owed.
    pub const fn new() -> Qs {
        Qs {
            needed: false,
            missing: false,
            ticks: 0,
        }
    }

    /// A grace period has begun, and waits for this CPU or does not.
    pub(crate) fn began(&mut self, needed: bool) {
        *self = Qs {
            needed,
            missing: needed,
            ticks: 0,
        };
    }

    /// Is there a state to report?
    pub fn noted(&self) -> bool {
        self.needed && !self.missing
    }
}

/// A CPU's state of idling.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Idling {
    /// The lazy callbacks among all that it owes.
    pub(crate) lazy: u64,
    pub(crate) advanced_at: Option<u64>,
    pub(crate) stamped_at: Option<u64>,
}

impl Idling {
    pub const fn new() -> Idling {
        Idling {
            lazy: 0,
            advanced_at: None,
            stamped_at: None,
        }
    }

    /// `gone` dies, and all but `out` of its callbacks come here. The number of lazy ones among the extracted
    /// ones is not known: the smallest possible number counts as moved.
    pub fn adopt(&mut self, gone: &mut Idling, out: u64) {
        let came = gone.lazy.saturating_sub(out);
        gone.lazy -= came;
        self.lazy += came;
    }
}

/// Times of the grace period in flight, and overload.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Pressing {
    pub(crate) started: u64,
    pub(crate) resched_at: u64,
    pub(crate) kick_at: u64,
    /// Scans begun before this grace period.
    pub(crate) scans_before: u64,
    /// `cbovld`: acted upon.
    pub(crate) overloaded: bool,
    /// `cbovldnext`: found by the present or the last scan.
    pub(crate) overloaded_next: bool,
    /// `RCU_GP_FLAG_OVLD`: do not wait before the next scan.
    pub scan_now: bool,
}

impl Pressing {
    pub const fn new() -> Pressing {
        Pressing {
            started: 0,
            resched_at: 0,
            kick_at: 0,
            scans_before: 0,
            overloaded: false,
            overloaded_next: false,
            scan_now: false,
        }
    }

    pub fn scan_begins(&mut self) {
        self.overloaded = core::mem::take(&mut self.overloaded_next);
    }

    pub fn saw(&mut self, leaf_overloaded: bool) {
        self.overloaded_next |= leaf_overloaded;
    }

    pub fn scan_ended(&mut self, first: bool) {
        self.scan_now = first && self.overloaded;
    }
}

/// An offloaded CPU's part.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Member {
    /// Its group, if it was offloaded at boot; only then it has threads.
    pub(crate) group: Option<GroupId>,
    /// Callbacks in the bypass.
    pub(crate) bypass: u64,
    pub(crate) bytes: u64,
    /// A lower bound of the time at which the bypass's oldest was queued, in nanoseconds; 0 if it is empty.
    pub(crate) since: u64,
    /// Its lazy callbacks.
    pub(crate) lazy: u64,
    /// The tick for which hidden callbacks are counted.
    pub(crate) first: u64,
    pub(crate) rate_tick: u64,
    pub(crate) rate: u64,
    /// The tick in which a call last advanced the list.
    pub(crate) advanced_at: Option<u64>,
    /// rcuop has no work, and has to be woken for some (`nocb_cb_sleep`).
    pub(crate) cb_sleep: bool,
}

impl Member {
    /// Not offloaded.
    pub const fn new() -> Member {
        Member {
            group: None,
            bypass: 0,
            bytes: 0,
            since: 0,
            lazy: 0,
            first: 0,
            rate_tick: 0,
            rate: 0,
            advanced_at: None,
            cb_sleep: true,
        }
    }

    /// Its group, for the times at which it is offloaded.
    pub fn group(&self) -> Option<GroupId> {
        self.group
    }

    /// Callbacks in the bypass.
    pub fn bypass(&self) -> u64 {
        self.bypass
    }

    /// Lazy callbacks: those without a requested grace period.
    pub fn lazy(&self) -> u64 {
        self.lazy
    }

    /// Does rcuop sleep?
    pub fn rcuop_sleeps(&self) -> bool {
        self.cb_sleep
    }
}

impl Default for Member {
    fn default() -> Member {
        Member::new()
    }
}

/// The leaf has seen the end of a grace period: threads that sleep on this queue check again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GpEnd {
    /// The leaf.
    pub leaf: LeafId,
    /// Which of its queues.
    pub queue: u8,
}

/// The queue for the waiters of `stamp`.
pub(crate) fn gp_queue(stamp: Seq) -> u8 {
    (stamp.ctr() & 1) as u8
}

/// The number of a group: that of its range of CPUs.
pub type GroupId = u32;
