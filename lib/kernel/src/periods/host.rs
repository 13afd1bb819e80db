//! The interface between the engine and its host.
//!
//! Three kinds of traffic cross it:
//!
//! * **Inputs** are method calls on [`Global`](crate::Global) with plain values, among them the time.
//! * **Queries** are the methods of [`Host`]: the engine calls them in the middle of a decision. They read
//!   one thing, never block, and never call the engine back.
//! * **Effects** ([`Effects`]) are returned by value and carried out by the host after it has dropped its
//!   lock; [`Next`] tells the driver of the grace period what to do then.
//!
//! # Why a fence is an effect and not a query
//! A process-wide fence is slow and may sleep. As a step boundary it is issued with
//! no lock held, and a checker sees every interleaving around it.

pub use quiescent_engine::host::{CpuId, LeafId, Pos, Seen};

use crate::periods::event::Event;

/// The time, as an input: a monotonic clock in nanoseconds and the host's coarse tick counter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Now {
    /// Monotonic nanoseconds.
    pub ns: u64,
    /// Scheduling-clock ticks.
    pub jiffies: u64,
}

/// Queries that the engine makes while it decides. All are cheap, and none calls the engine.
pub trait Host {
    /// Does this host want trace events? Without it, the engine does not make them.
    const TRACES: bool = true;

    /// All CPU numbers that ever took part are below this. It may grow at any time; a CPU that arrives later
    /// than the answer must see every store made before the query (a full fence on both sides).
    fn cpus(&self) -> u32;

    /// One acquire load of `cpu`'s reader state.
    fn observe(&self, cpu: CpuId) -> Seen;

    /// The CPUs of `leaf` that take part from now on: buffered arrivals and departures. Bit `i` stands for
    /// the leaf's lowest CPU plus `i`.
    fn present(&self, leaf: LeafId) -> u64;

    /// Is `cpu`, on which the caller runs, outside every section *of its own*? True for a grace-period
    /// thread. By default: false, which reports nothing early.
    fn own_quiescent(&self, cpu: CpuId) -> bool {
        let _ = cpu;
        false
    }

    /// Does `cpu` run without a tick where it can (`nohz_full`)? Queried in later scans of hosts with
    /// [escalation](crate::urgency::Escalation), and when it is to be de-offloaded. The answer does not
    /// change.
    fn nohz_full(&self, cpu: CpuId) -> bool {
        let _ = cpu;
        false
    }

    /// Callbacks that `cpu` owes ([`Cpu::len`](crate::Cpu::len), possibly a little out of date). Queried at
    /// the end of a grace period about CPUs that are marked as overloaded.
    fn owed_callbacks(&self, cpu: CpuId) -> u64 {
        let _ = cpu;
        0
    }

    /// A trace event. The default drops it.
    fn trace(&self, event: &Event) {
        let _ = event;
    }
}

/// The next action of the grace-period thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use = "the grace period stands still unless its driver does this"]
pub enum Next {
    /// Nothing is requested: the grace-period thread waits for a request.
    Done,
    /// Call [`step`](crate::Global::step) again; other calls may come in between.
    Again,
    /// Issue one full fence that reaches every CPU, between the start of a grace period and its first scan,
    /// with no lock held; then call [`fenced`](crate::Global::fenced).
    Fence,
    /// Call [`grow`](crate::Global::grow) with a tree for at least this many CPUs, built with no
    /// lock held.
    Grow(u32),
    /// Sleep for this many ticks at most, as a kernel's timer counts them, or until woken; then step.
    Sleep(u64),
}

/// Interrupts to be sent to CPUs of one leaf, and new requests to them. Bit `i` stands for `lo + i`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Nudge {
    /// The leaf's lowest CPU.
    pub lo: CpuId,
    /// New requests for a momentary extended quiescent state.
    pub heavy: u64,
    /// New requests to hurry.
    pub urgent: u64,
    /// Make these reschedule, by an interrupt.
    pub resched: u64,
    /// Queue an interrupt work there; it calls [`irq_work_ran`](crate::Global::irq_work_ran).
    pub irq_work: u64,
    /// Store the CPU time of these, by kind.
    pub cpu_time: u64,
    /// The tick that was forced on a `nohz_full` CPU ([`Cpu::irq_enter`](crate::Cpu::irq_enter)) is no
    /// longer needed.
    pub stop_tick: u64,
}

impl Nudge {
    /// `None` if there is nothing to do.
    pub(crate) fn some(self) -> Option<Nudge> {
        let Nudge { lo, .. } = self;
        (self
            != Nudge {
                lo,
                ..Nudge::default()
            })
        .then_some(self)
    }
}

/// Sequence numbers for lock-free polls, to be published with release stores before the lock is
/// dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Published {
    /// The global `gp_seq`: cookies come from it.
    pub global: quiescent_engine::seq::Seq,
    /// The root node's copy: polls read it. It is advanced before the global one.
    pub root: quiescent_engine::seq::Seq,
}

/// The actions that the host has to carry out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use = "effects not carried out are lost wake-ups"]
pub struct Effects {
    /// New sequence numbers for lock-free polls.
    pub publish: Option<Published>,
    /// Wake the grace-period thread, if the host has one.
    pub wake_gp: bool,
    /// Wake the driver of the expedited grace period in progress ([`exp`](crate::exp)).
    pub wake_exp: bool,
    /// Waiters below this position are satisfied: wake them directly.
    pub waiters_until: Option<Pos>,
    /// Waiters from there up to this position are satisfied too; a work item wakes them and calls
    /// [`waiters_woken`](crate::Global::waiters_woken).
    pub deferred_until: Option<Pos>,
    /// CPUs to be interrupted, and ticks to be stopped.
    pub nudge: Option<Nudge>,
    /// Wake the offload threads that sleep on this queue: see
    /// [`Group::goes_on`](crate::offload::Group::goes_on).
    pub gp_end: Option<crate::periods::parts::GpEnd>,
    /// The next action of the driver.
    pub next: Next,
}

impl Effects {
    /// No effect except the next action.
    pub const fn only(next: Next) -> Effects {
        Effects {
            publish: None,
            wake_gp: false,
            wake_exp: false,
            waiters_until: None,
            deferred_until: None,
            nudge: None,
            gp_end: None,
            next,
        }
    }
}

/// The queries of a [`Host`] that only calls of the driver make, for hosts of tests that do not drive.
#[cfg(test)]
macro_rules! asked_by_the_driver_only {
    () => {
        fn cpus(&self) -> u32 {
            unreachable!("asked by the driver only")
        }
        fn observe(&self, _: $crate::periods::host::CpuId) -> $crate::periods::host::Seen {
            unreachable!("asked by the driver only")
        }
        fn present(&self, _: $crate::periods::host::LeafId) -> u64 {
            unreachable!("asked by the driver only")
        }
        fn own_quiescent(&self, _: $crate::periods::host::CpuId) -> bool {
            unreachable!("asked by the driver only")
        }
    };
}

#[cfg(test)]
pub(crate) use asked_by_the_driver_only;

#[cfg(test)]
mod tests {
    use super::*;

    struct Silent;

    impl Host for Silent {
        asked_by_the_driver_only!();
    }

    #[test]
    fn a_host_that_says_no_more_has_ordinary_cpus_anywhere() {
        assert!(!Silent.nohz_full(1));
        assert_eq!(Silent.owed_callbacks(1), 0);
    }
}
