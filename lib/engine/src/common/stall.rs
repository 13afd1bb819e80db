//! Stalls: a grace period that does not end, and its reports.
//!
//! The engine cannot end a section. It can name the reader in a report to the program: once after a time;
//! again after three times that time and a little; and so on while the stall lasts. The next grace period
//! starts the time again.
//!
//! | | from | checked by | reported by |
//! |---|---|---|---|
//! | a kernel's grace period (ticks) | its start | each CPU at its tick | a holdout; 2 ticks later any CPU |
//! | an expedited one (ticks) | the last interrupt sent | its driver, which sleeps until then | the driver |
//! | a request without a start (ticks) | the first tick that found it | each CPU at its tick | the first |
//! | the thread host's (ns) | the first scan with a holdout | the driver | the driver, if one is left |
//!
//! # The thread host
//! There is no tick, and no thread that only checks: a driver that sleeps for a holdout sleeps until the
//! report is due ([`Next::Sleep`](crate::Next)), so a report costs one wake-up, and nothing otherwise (rule
//! R5). A driver that left needs no replacement; the next driver finds the report due. A driver [within
//! another call](crate::Interest::Passing) makes no report: it runs inside a `retire` of the program.
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
//! * No report if the time is 0 (off), between grace periods, or while reports are
//!   [suppressed](Global::reset_stalls).

use crate::common::fqs::Wait;
use crate::common::global::{Global, Interest, Phase};
use crate::common::host::CpuId;
use crate::common::seq::Seq;

/// Beyond three times the timeout, a repeated report waits this many ticks.
const REPEAT_TICKS: u64 = 3;
/// The same for the thread host, whose coarse tick is a millisecond.
const REPEAT_NS: u64 = REPEAT_TICKS * 1_000_000;
/// A second, in nanoseconds.
const SECOND: u64 = 1_000_000_000;

/// The thread host's default time before a report.
pub const THREADS_NS: u64 = 21 * SECOND;

/// A stall that the driver of a thread host has to report; [`Global::in_the_way`] returns its holdouts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stalled {
    /// The grace period, as traces print it.
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

/// The time of the next report about something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Due {
    /// The time of its start, or of the last report.
    since: Option<u64>,
    reports: u32,
}

impl Due {
    const NEVER: Due = Due {
        since: None,
        reports: 0,
    };

    fn begin(&mut self, now: u64) {
        self.since.get_or_insert(now);
    }

    /// The time; `u64::MAX` for never.
    fn at(&self, timeout: u64, repeat: u64) -> u64 {
        match self.since {
            Some(since) if timeout > 0 => since.saturating_add(match self.reports {
                0 => timeout,
                _ => timeout.saturating_mul(3).saturating_add(repeat),
            }),
            _ => u64::MAX,
        }
    }

    /// True for the caller that has to report.
    fn take(&mut self, now: u64, timeout: u64, repeat: u64) -> bool {
        let at = self.at(timeout, repeat);
        if at == u64::MAX || now < at {
            return false;
        }
        self.since = Some(now);
        self.reports = self.reports.saturating_add(1);
        true
    }
}

/// Reports about the grace period in flight, about an expedited one, and about one that does not start.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct StallState {
    gp: Due,
    /// The time of the first scan that found a thread host's holdouts.
    blocked_since: Option<u64>,
    /// A report is due, and is made at the end of the scan.
    noticed: bool,
}

impl StallState {
    pub const fn new() -> StallState {
        StallState {
            gp: Due::NEVER,
            blocked_since: None,
            noticed: false,
        }
    }
}

impl Global {
    /// Reports stalls after this number of nanoseconds; 0: never. True if a sleeping driver has to be woken
    /// to use the new time. No effect in a host that counts ticks.
    pub fn set_stall_ns(&mut self, ns: u64) -> bool {
        self.config.pace.stall_ns = ns;
        self.driver.is_some() && self.phase == Phase::Wait(Wait::Asleep)
    }

    /// The readers for which the grace period waits, each with the stamp it has had since the first scan. A
    /// reader with another stamp now has left since.
    pub fn in_the_way(&self) -> impl Iterator<Item = (CpuId, u64)> + '_ {
        let leaves = self.leaves.as_ref();
        let stamp = move |cpu: CpuId| leaves.map_or(0, |leaves| leaves.stamp(cpu));
        self.holdouts().map(move |cpu| (cpu, stamp(cpu)))
    }

    /// A scan has found a holdout.
    pub(crate) fn blocked(&mut self) {
        let now = self.now.ns;
        self.stall.blocked_since.get_or_insert(now);
        self.stall.gp.begin(now);
    }

    /// The longest sleep of a driver.
    pub(crate) fn next_stall(&self) -> u64 {
        self.stall.gp.at(self.config.pace.stall_ns, REPEAT_NS)
    }

    /// A scan begins: is a report due?
    pub(crate) fn notice_stall(&mut self) {
        let passing = self
            .driver
            .is_none_or(|driver| driver.interest == Interest::Passing);
        let (now, timeout) = (self.now.ns, self.config.pace.stall_ns);
        if !passing && self.stall.gp.take(now, timeout, REPEAT_NS) {
            self.counts.stalls += 1;
            self.stall.noticed = true;
        }
    }

    /// A scan has ended with a holdout: has the driver to report?
    pub(crate) fn stalled_readers(&mut self) -> Option<Stalled> {
        let passing = self
            .driver
            .is_none_or(|driver| driver.interest == Interest::Passing);
        if passing || !core::mem::take(&mut self.stall.noticed) {
            return None;
        }
        Some(Stalled {
            gp_seq: self.gp_seq,
            grace_period: self.counts.grace_periods + 1,
            nth: self.stall.gp.reports,
            since_ns: self.stall.blocked_since.unwrap_or(self.now.ns),
            now_ns: self.now.ns,
        })
    }
}
