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
//! A process-wide fence (`membarrier(2)`) is slow and may sleep. As a step boundary it is issued with
//! no lock held, several domains may share one, and a checker sees every interleaving around it.

use crate::common::event::Event;

/// Number of a CPU. The host defines what a CPU is (a modelled CPU, a registered thread).
pub type CpuId = u32;

/// Position of a leaf in the tree, counted from the first leaf.
pub type LeafId = usize;

/// Position in a queue that only grows; as a bound it stands for everything below it.
pub type Pos = u64;

/// The time, as an input: a monotonic clock in nanoseconds and the host's coarse tick counter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Now {
    /// Monotonic nanoseconds.
    pub ns: u64,
    /// Scheduling-clock ticks; a thread host keeps a coarse counter of its own.
    pub jiffies: u64,
}

/// The result of one acquire load of a CPU's reader state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Seen {
    /// The CPU was outside every read-side critical section: in an extended quiescent state.
    pub outside: bool,
    /// Changes whenever the CPU passes through an extended quiescent state. Two different stamps prove that
    /// every section open at the first scan has ended.
    pub stamp: u64,
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

    /// The leaves that may be occupied: bit `i` of group `g` stands for leaf `64 * g + i`. A set bit proves
    /// nothing; a clear one means that [`present`](Host::present) would answer 0. An arriving CPU sets the
    /// bit before the full fence that precedes its first section; it stays set until the engine has found the
    /// leaf empty ([`Effects::vacated`]). Queried for hosts with [`skip_empty`](crate::Config::skip_empty),
    /// and where a sole thread needs no fence. By default: all.
    fn occupied(&self, group: usize) -> u64 {
        let _ = group;
        u64::MAX
    }

    /// Is `cpu`, on which the caller runs, outside every section *of its own*? Always true for a kernel's
    /// grace-period thread; false for a thread that drives from inside a section. By default: false, which
    /// reports nothing early.
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

/// The next action of the driver of the grace period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use = "the grace period stands still unless its driver does this"]
pub enum Next {
    /// Nothing is requested: the driver leaves, or a grace-period thread waits for a request.
    Done,
    /// Call [`step`](crate::Global::step) again; other calls may come in between.
    Again,
    /// Issue one full fence that reaches every CPU, with no lock held, then call
    /// [`fenced`](crate::Global::fenced).
    Fence(FenceCause),
    /// Call [`grow`](crate::Global::grow) with a tree for at least this many CPUs, built with no
    /// lock held.
    Grow(u32),
    /// Relax the processor this many times, with no lock held, then step.
    Spin(u32),
    /// Set the wake flag of every holdout and pass the number that were clear to
    /// [`flagged`](crate::Global::flagged). With `arm`, first declare that the driver is about to sleep, so
    /// that a reader that clears a flag from now on wakes it.
    FlagHoldouts {
        /// The driver is about to sleep.
        arm: bool,
    },
    /// Sleep until then, or until woken, then step.
    Sleep(Until),
    /// The driver is satisfied and other waiters are not: leave, and wake one of them to drive.
    HandOver,
}

/// The reason for a fence; hosts count fences by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FenceCause {
    /// Between the start of a grace period and its first scan of readers: one a grace period.
    GpStart,
    /// Between setting wake flags and the last scan before sleeping.
    Flag,
}

/// End of a sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Until {
    /// Monotonic nanoseconds.
    Ns(u64),
    /// This many ticks from now at the latest, as a kernel timer counts them.
    Jiffies(u64),
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
    pub global: crate::common::seq::Seq,
    /// The root node's copy: polls read it. It is advanced before the global one.
    pub root: crate::common::seq::Seq,
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
    /// Readers have blocked the grace period for so long that it has to be reported.
    pub stall: Option<crate::common::stall::Stalled>,
    /// No CPU is left at this leaf: its bit in [`Host::occupied`] may be cleared before the lock is dropped
    /// (and has to be set again if a CPU arrived at the same time).
    pub vacated: Option<LeafId>,
    /// New sections join this count from now on ([`indexed`](crate::indexed)).
    pub join: Option<CpuId>,
    /// CPUs to be interrupted, and ticks to be stopped.
    pub nudge: Option<crate::common::host::Nudge>,
    /// Wake the offload threads that sleep on this queue: see
    /// [`Group::goes_on`](crate::offload::Group::goes_on).
    pub gp_end: Option<crate::common::parts::kernel::GpEnd>,
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
            stall: None,
            vacated: None,
            join: None,
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
        fn observe(&self, _: $crate::common::host::CpuId) -> $crate::common::host::Seen {
            unreachable!("asked by the driver only")
        }
        fn present(&self, _: $crate::common::host::LeafId) -> u64 {
            unreachable!("asked by the driver only")
        }
        fn own_quiescent(&self, _: $crate::common::host::CpuId) -> bool {
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
        assert_eq!(Silent.occupied(1), u64::MAX);
        assert!(!Silent.nohz_full(1));
        assert_eq!(Silent.owed_callbacks(1), 0);
    }
}
