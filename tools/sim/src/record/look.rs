//! A look at a machine that goes on: what a live view shows.
//!
//! A run that nobody ends must not grow without end, so a look takes what is kept for each callback, grace period and call
//! ([`Func::delays`], [`Stats::grace_periods`], [`Stats::calls`]) out of the machine: the next look has what has come since. Counters go on.

use super::counted::Counted;
use super::stats::{Func, GracePeriod, Totals};

/// More who are in the way than this are not listed.
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

/// Whom the grace period under way waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InTheWay {
    /// A CPU, and what runs there; none if it idles.
    Cpu(u32, Option<String>),
    /// A task that was switched out in a section.
    Preempted(String),
    /// A thread of a program, and how many sections it has open.
    Thread(usize, String, u32),
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
    /// Who is in the way; the first eight.
    pub in_the_way: Vec<InTheWay>,
    /// Counters of a kernel.
    pub totals: Totals,
    /// Counters of a program's library, on a machine of threads.
    pub counted: Option<Counted>,
}

/// The functions, their delays taken from where they are kept.
pub(crate) fn functions(kept: &mut [Func]) -> Vec<Func> {
    let taken = kept.iter_mut().map(|it| {
        let delays = std::mem::take(&mut it.delays);
        Func {
            delays,
            ..it.clone()
        }
    });
    taken.collect()
}

/// How many they are, and their scans.
pub(crate) fn ended(periods: &[GracePeriod]) -> (u64, u64) {
    let scans = periods.iter().map(|it| u64::from(it.scans)).sum();
    (periods.len() as u64, scans)
}
