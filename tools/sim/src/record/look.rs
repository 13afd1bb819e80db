//! A view of a running machine, for a live display.
//!
//! A run without an end must not grow without bound, so a view takes the per-callback, per-grace-period and
//! per-call records ([`Func::delays`], [`Stats::grace_periods`], [`Stats::calls`]) out of the machine: the
//! next view has the records since then. Counters continue.

use super::stats::{Func, Totals};

/// Holdouts beyond this number are not listed.
pub(crate) const MOST: usize = 8;

/// A task, and how much it has run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskLook {
    /// Its number: the same in each look.
    pub number: usize,
    /// Its name.
    pub name: String,
    /// Times it was woken.
    pub wakeups: u64,
    /// Time that it had a CPU, in nanoseconds, interrupts included.
    pub ran_ns: u64,
}

/// A holdout of the grace period in progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InTheWay {
    /// A CPU, and what runs there; none if it idles.
    Cpu(u32, Option<String>),
    /// A task that was switched out in a section.
    Preempted(String),
}

/// What a look has found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Look {
    /// When, in nanoseconds.
    pub at: u64,
    /// Functions: counters, and the delays of those that were invoked since the last look.
    pub functions: Vec<Func>,
    /// Tasks.
    pub tasks: Vec<TaskLook>,
    /// Grace periods that have ended since the last look, and their scans.
    pub grace_periods: (u64, u64),
    /// The holdouts; the first eight.
    pub in_the_way: Vec<InTheWay>,
    /// Counters of a kernel.
    pub totals: Totals,
}
