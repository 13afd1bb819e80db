//! What ends laziness: why a grace period is asked for on a queue's account.

use super::Defer;
use crate::common::cblist::CbList;
use crate::common::cpu::Cpu;
use crate::common::global::Global;
use crate::common::host::{Host, Now};

/// Why callbacks that could have waited for company did not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// The time of lazy ones is over.
    Lazy,
    /// The time of prompt ones is over.
    Prompt,
    /// There are enough of them.
    Batch,
    /// Somebody is in a hurry.
    Hurry,
    /// A barrier waits for them.
    Barrier,
    /// Somebody empties the domain.
    Drain,
    /// Memory is low.
    Pressure,
    /// The budget is near.
    Budget,
}

impl Cause {
    /// All of them.
    pub const ALL: [Cause; 8] = [
        Cause::Lazy,
        Cause::Prompt,
        Cause::Batch,
        Cause::Hurry,
        Cause::Barrier,
        Cause::Drain,
        Cause::Pressure,
        Cause::Budget,
    ];

    /// As counters are named by it.
    pub const fn name(self) -> &'static str {
        match self {
            Cause::Lazy => "lazy",
            Cause::Prompt => "prompt",
            Cause::Batch => "batch",
            Cause::Hurry => "hurry",
            Cause::Barrier => "barrier",
            Cause::Drain => "drain",
            Cause::Pressure => "pressure",
            Cause::Budget => "budget",
        }
    }
}

/// How often callbacks of a queue were sent on their way for each [`Cause`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flushes([u64; Cause::ALL.len()]);

impl Flushes {
    /// None.
    pub const fn new() -> Flushes {
        Flushes([0; Cause::ALL.len()])
    }

    /// How often for this one.
    pub fn of(&self, cause: Cause) -> u64 {
        self.0[cause as usize]
    }
}

impl Cpu {
    /// Has somebody else to take this queue over now, and why? Its time is over, or something that is in a hurry
    /// has found no free segment for its stamp. Where memory is `low`, any time is over.
    pub fn due(&self, now: Now, low: bool) -> Option<Cause> {
        let over = |deadline: Option<u64>| deadline.is_some_and(|deadline| deadline <= now.ns);
        let unstamped = || self.lists.iter().any(|list| list.unstamped() > 0);
        if over(self.credit.deadline) {
            let prompt = over(self.credit.prompt);
            return Some(if prompt { Cause::Prompt } else { Cause::Lazy });
        }
        if self.is_hurried() && unstamped() {
            return Some(Cause::Hurry);
        }
        (low && self.credit.deadline.is_some()).then_some(Cause::Pressure)
    }

    /// Asks for the grace period that all stamps given so far wait for, or an earlier one.
    pub(super) fn flush(&mut self, global: &mut Global, cause: Cause, host: &impl Host) {
        if self.lists.iter().any(CbList::pending) {
            let _ = global.request(self.leaf_id(global), host);
            global.counts.flushes.0[cause as usize] += 1;
        }
    }
}

impl Defer {
    /// Low memory is acted upon at most ten times a second.
    pub(super) const PRESSURE_NS: u64 = 100_000_000;
}
