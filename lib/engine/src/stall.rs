//! Stalls: a grace period that does not end, and its reports.
//!
//! The engine cannot end a section. It can name the reader in a report to the program: once after a time
//! from the first scan that found a holdout; again after three times that time and a little; and so on while
//! the stall lasts. The next grace period starts the time again.
//!
//! There is no thread that only checks: a driver that sleeps for a holdout sleeps until the report is due
//! ([`Next::Sleep`](crate::Next)), so a report costs one wake-up, and nothing otherwise (rule R5). A driver
//! that left needs no replacement; the next driver finds the report due. A driver
//! [within another call](crate::Interest::Passing) makes no report: it runs inside a `retire` of the program.
//!
//! A report becomes *due* when a scan begins, and is *made* when the scan has ended with a holdout: readers
//! that left during the scan are not named. The count [`stalls`](crate::Counts::stalls) counts due reports,
//! so that it shows a lost wake-up even if no reader is left to name.
//!
//! # Age of a holdout's section
//! A later scan credits every reader that is outside or has another stamp than in the first scan. So a reader
//! that owes at the end of a scan had the first scan's stamp in it: the section is older than that scan
//! ([`Stalled::since_ns`]), by an unknown time. The reader needs no clock.
//!
//! # Invariants
//! * A report is due once: the call that takes it advances the time, under the engine's lock.
//! * No report if the time is 0 (off), or between grace periods.

pub use crate::config::DEFAULT_NS;
use crate::global::{Global, Interest, NEVER, Phase, Wait};
use crate::host::CpuId;
use crate::seq::Seq;

/// Beyond three times the timeout, a repeated report waits this long.
const REPEAT_NS: u64 = 3_000_000;

/// A stall that the driver has to report; [`Global::in_the_way`] returns its holdouts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stalled {
    /// The number while it lasts.
    pub gp_seq: Seq,
    /// The number of the grace period: the count of earlier ones, plus one ([`Counts`](crate::Counts)).
    pub grace_period: u64,
    /// Reports about it so far, this one included.
    pub nth: u32,
    /// The time since which the holdouts have been in their sections at least.
    pub since_ns: u64,
    /// The time of this report.
    pub now_ns: u64,
}

impl Global {
    /// Reports stalls after this number of nanoseconds; 0: never. True if a sleeping driver has to be woken
    /// to use the new time.
    pub fn set_stall_ns(&mut self, ns: u64) -> bool {
        self.config.pace.stall_ns = ns;
        self.is_driven() && self.phase == Phase::Wait(Wait::Asleep)
    }

    /// The readers for which the grace period waits, each with the stamp it has had since the first scan. A
    /// reader with another stamp now has left since.
    pub fn in_the_way(&self) -> impl Iterator<Item = (CpuId, u64)> + '_ {
        self.holdouts().map(|cpu| (cpu, self.leaves.stamp(cpu)))
    }

    /// What is to be reported on [`Next::Report`](crate::Next::Report).
    #[inline]
    pub fn stalled(&self) -> Stalled {
        let now_ns = self.now.ns;
        Stalled {
            gp_seq: self.gp_seq,
            grace_period: self.counts.grace_periods + 1,
            nth: self.reports.made,
            since_ns: self.reports.blocked_ns.min(now_ns),
            now_ns,
        }
    }

    /// A scan has found a holdout.
    pub(crate) fn blocked(&mut self) {
        if self.reports.blocked_ns == NEVER {
            self.reports.blocked_ns = self.now.ns;
            self.reports.since_ns = self.now.ns;
        }
    }

    /// The time of the next report; `u64::MAX` for never. It is the end of the longest sleep of a driver.
    pub(crate) fn next_report(&self) -> u64 {
        let (since, timeout) = (self.reports.since_ns, self.config.pace.stall_ns);
        match (timeout, self.reports.made) {
            _ if since == NEVER => NEVER,
            (0, _) => NEVER,
            (_, 0) => since.saturating_add(timeout),
            _ => since.saturating_add(timeout.saturating_mul(3).saturating_add(REPEAT_NS)),
        }
    }

    /// A scan begins: is a report due?
    pub(crate) fn notice_stall(&mut self) {
        let at = self.next_report();
        if at != NEVER && self.now.ns >= at && !self.is_driven_for(Interest::Passing) {
            self.reports.since_ns = self.now.ns;
            self.reports.made = self.reports.made.saturating_add(1);
            self.reports.noticed = true;
            self.counts.stalls += 1;
        }
    }

    /// A scan has ended with a holdout: has the driver to report?
    pub(crate) fn takes_report(&mut self) -> bool {
        let takes = self.reports.noticed && !self.is_driven_for(Interest::Passing);
        self.reports.noticed &= !takes;
        takes
    }
}
