//! The interface between the engine and its host.
//!
//! Three kinds of traffic cross it:
//!
//! * **Inputs** are method calls on [`Global`](crate::Global) with plain values, among them the time.
//! * **Queries** are the methods of [`Host`]: the engine calls them in the middle of a decision. They read
//!   one thing, never block, and never call the engine back. Two of them are notices: they store one thing.
//! * **Effects** are returned: [`Next`] tells the driver of the grace period what to do, most of it after it
//!   has dropped the host's lock. What else a call may have changed is asked for while the lock is still
//!   held: the number for polls without the lock ([`Global::published`](crate::Global::published)), and the
//!   waiters that are satisfied ([`Waiters::done`](crate::Waiters::done)).
//!
//! # Why a fence is an effect and not a query
//! A process-wide fence (`membarrier(2)`) is slow and may sleep. As a step boundary it is issued with
//! no lock held, several domains may share one, and a checker sees every interleaving around it.

use core::num::NonZeroU32;

/// Number of a CPU: of a registered thread, or of one of two [counts](crate::indexed).
pub type CpuId = u32;

/// Number of a leaf: of so many CPUs in a row ([`Config::leaf`](crate::Config::leaf)).
pub type LeafId = usize;

/// Position in a queue that only grows; as a bound it stands for everything below it.
pub type Pos = u64;

/// The number of lists of a CPU.
pub const LANES: usize = 4;

/// The lists of a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lane {
    /// Memory, freed by its owner without running code of the program.
    Plain,
    /// Code that a worker runs: closures.
    Code,
    /// Code that its owner runs, outside of sections and callbacks: destructors.
    Own,
    /// Callbacks whose link is inside the object that they free.
    Head,
}

impl Lane {
    /// All lanes, in the order of a CPU's lists.
    pub const ALL: [Lane; LANES] = [Lane::Plain, Lane::Code, Lane::Own, Lane::Head];
    /// Those whose items run code of the program, in the order in which they are run.
    pub const CODE: [Lane; 3] = [Lane::Own, Lane::Code, Lane::Head];
}

/// The name of a turn: its worker. The host gives each worker a different one.
pub type TurnId = NonZeroU32;

/// The time, as an input: a monotonic clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Now {
    /// Monotonic nanoseconds.
    pub ns: u64,
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
    /// leaf empty. By default: all.
    fn occupied(&self, group: usize) -> u64 {
        let _ = group;
        u64::MAX
    }

    /// No CPU is left at this leaf: its bit in [`occupied`](Host::occupied) may be cleared, and has to be set
    /// again if a CPU arrives at the same time.
    fn vacated(&self, leaf: LeafId) {
        let _ = leaf;
    }

    /// New sections join this count from now on ([`indexed`](crate::indexed)).
    fn join(&self, count: CpuId) {
        let _ = count;
    }
}

/// The next action of the driver of the grace period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use = "the grace period stands still unless its driver does this"]
pub enum Next {
    /// Nothing is requested, or the driver is satisfied: it leaves.
    Done,
    /// Call [`step`](crate::Global::step) again; other calls may come in between.
    Again,
    /// Issue one full fence that reaches every CPU, with no lock held, then call
    /// [`fenced`](crate::Global::fenced).
    Fence(FenceCause),
    /// Call [`grow`](crate::Global::grow) with leaves for at least this many CPUs, built with no lock held.
    Grow(u32),
    /// Readers have blocked the grace period for so long that it has to be reported: leave, report
    /// [`Global::stalled`](crate::Global::stalled), and drive again if there is reason to.
    Report,
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
    Sleep(u64),
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
