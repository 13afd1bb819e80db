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

use crate::common::event::{Event, StallEvent};
use crate::common::global::Global;
use crate::common::host::Host;
use crate::common::seq::Seq;

mod kernel;
mod threads;

/// CPUs that are not holdouts report a stall this many ticks later.
const OTHERS_LATER: u64 = 2;
/// Beyond three times the timeout, a repeated report waits this many ticks.
const REPEAT_TICKS: u64 = 3;
/// The same for the thread host, whose coarse tick is a millisecond.
const REPEAT_NS: u64 = REPEAT_TICKS * 1_000_000;
/// Scans that have to be made before reports are made again after a [reset](Global::reset_stalls).
const RESET_SCANS: u8 = 3;
/// A second, in nanoseconds.
const SECOND: u64 = 1_000_000_000;

/// The thread host's default time before a report.
pub const THREADS_NS: u64 = 21 * SECOND;

/// Ticks of a kernel's timeout, given in seconds: 3 to 300, and 5 more for kernels that check their locks
/// (`CONFIG_PROVE_RCU`).
pub const fn timeout(seconds: u64, hz: u32, checks_locks: bool) -> u64 {
    let seconds = if seconds < 3 {
        3
    } else if seconds > 300 {
        300
    } else {
        seconds
    };
    (seconds + if checks_locks { 5 } else { 0 }) * hz as u64
}

/// A stall, as a CPU's tick sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stall {
    /// This CPU is a holdout: it reports at once.
    Own,
    /// Other CPUs are holdouts: this one reports if they have not.
    Others,
}

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
    exp: Due,
    start: Due,
    /// The time of the first scan that found a thread host's holdouts.
    blocked_since: Option<u64>,
    /// A report is due, and is made at the end of the scan.
    noticed: bool,
    /// Scans until reports are made again.
    reset: u8,
}

impl StallState {
    pub const fn new() -> StallState {
        StallState {
            gp: Due::NEVER,
            exp: Due::NEVER,
            start: Due::NEVER,
            blocked_since: None,
            noticed: false,
            reset: 0,
        }
    }

    pub fn exp_ended(&mut self) {
        self.exp = Due::NEVER;
    }
}

impl Global {
    /// A grace period starts.
    pub(crate) fn stall_gp_started(&mut self) {
        let exp = self.stall.exp;
        self.stall = StallState {
            exp,
            ..StallState::new()
        };
        if self.config.escalation.is_some() {
            self.stall.gp.begin(self.now.jiffies);
        }
    }

    /// A scan begins.
    pub(crate) fn stall_scan_begins(&mut self) {
        self.notice_stall();
        if self.stall.reset > 0 {
            self.stall.reset -= 1;
            if self.stall.reset == 0 {
                self.stall.gp = Due::NEVER;
                self.stall.gp.begin(self.now.jiffies);
            }
        }
    }
}

fn trace(event: StallEvent, host: &impl Host) {
    host.trace(&Event::StallWarning { event });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common::global::Phase;
    use crate::common::host::Now;
    use alloc::vec::Vec;

    #[test]
    fn timeouts_are_clamped_and_longer_where_locks_are_checked() {
        let ticks = |seconds| timeout(seconds, 250, false);
        assert_eq!((ticks(21), ticks(0), ticks(1000)), (5250, 750, 75_000));
        assert_eq!(timeout(21, 100, true), 2600);
        assert_eq!(THREADS_NS, 21_000_000_000, "a kernel's, in nanoseconds");
        assert_eq!(REPEAT_NS, 3_000_000, "and its three ticks");
    }

    #[test]
    fn a_report_is_due_after_the_time_and_then_after_three_times_it_and_a_little() {
        let mut due = Due::NEVER;
        assert!(!due.take(u64::MAX, 10, 3), "nothing has begun");
        due.begin(100);
        due.begin(105);
        let mut reported = Vec::new();
        for now in 100..200 {
            if due.take(now, 10, 3) {
                reported.push(now);
            }
        }
        assert_eq!(reported, [110, 143, 176]);
        let mut off = Due::NEVER;
        off.begin(0);
        assert!(!off.take(u64::MAX, 0, 3), "off");
        assert!(!off.take(u64::MAX, u64::MAX, 3), "for ever");
    }

    #[test]
    fn an_expedited_one_is_as_old_as_it_is_whatever_else_ends_or_starts() {
        let mut engine = Global::new(crate::common::config::Config::kernel_6_12(2, 1000));
        engine.stall.exp.begin(100);
        engine.stall_gp_started();
        assert_eq!(engine.stall.exp.at(10, 3), 110, "a normal one has started");
        engine.stall.exp_ended();
        engine.stall.exp.begin(500);
        assert_eq!(engine.stall.exp.at(10, 3), 510, "it is another one");
    }

    #[test]
    fn reports_are_reset_for_a_grace_period_that_a_kernel_has_in_flight() {
        use crate::common::config::Config;
        for (config, in_flight, reset) in [
            (Config::kernel_6_12(2, 1000), true, RESET_SCANS),
            (Config::kernel_6_12(2, 1000), false, 0),
            (Config::threads(), true, 0),
            (Config::threads(), false, 0),
        ] {
            let mut engine = Global::new(config);
            if in_flight {
                engine.gp_seq = engine.gp_seq.start();
            }
            engine.reset_stalls();
            assert_eq!(engine.stall.reset, reset);
        }
    }

    #[test]
    fn one_that_waits_behind_another_is_not_late_with_its_start() {
        let mut engine = Global::new(crate::common::config::Config::kernel_6_12(2, 1000));
        let mut late = |phase, jiffies| {
            (engine.phase, engine.wanted) = (phase, true);
            engine.claim_start_stall(Now {
                jiffies,
                ..Now::default()
            })
        };
        let timeout = timeout(21, 1000, false);
        assert!(!late(Phase::Fence, 0) && !late(Phase::Fence, timeout));
        assert!(!late(Phase::Idle, timeout), "only from its start on");
        assert!(!late(Phase::Idle, 2 * timeout - 1) && late(Phase::Idle, 2 * timeout));
    }
}
