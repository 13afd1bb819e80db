//! Stalls: a grace period that does not end, and its reports.
//!
//! The engine cannot end a section. It can name the reader in a report to the program: once after a time;
//! again after three times that time and a little; and so on while the stall lasts. The next grace period
//! starts the time again.
//!
//! | | from | checked by | reported by |
//! |---|---|---|---|
//! | a grace period | its start | each CPU at its tick | a holdout; 2 ticks later any CPU |
//! | an expedited one | the last interrupt sent | its driver, which sleeps until then | the driver |
//! | a request without a start | the first tick that found it | each CPU at its tick | the first |
//!
//! # Invariants
//! * A report is due once: the call that takes it advances the time, under the engine's lock.
//! * No report if the time is 0 (off), between grace periods, or while reports are
//!   [suppressed](Global::reset_stalls).

use crate::periods::event::{Event, StallEvent};
use crate::periods::global::{Global, Phase};
use crate::periods::host::{CpuId, Host, Now};

/// CPUs that are not holdouts report a stall this many ticks later.
const OTHERS_LATER: u64 = 2;
/// Beyond three times the timeout, a repeated report waits this many ticks.
const REPEAT_TICKS: u64 = 3;
/// Scans that have to be made before reports are made again after a [reset](Global::reset_stalls).
const RESET_SCANS: u8 = 3;

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
    /// Scans until reports are made again.
    reset: u8,
}

impl StallState {
    pub const fn new() -> StallState {
        StallState {
            gp: Due::NEVER,
            exp: Due::NEVER,
            start: Due::NEVER,
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
        if self.stall.reset > 0 {
            self.stall.reset -= 1;
            if self.stall.reset == 0 {
                self.stall.gp = Due::NEVER;
                self.stall.gp.begin(self.now.jiffies);
            }
        }
    }

    /// Sets the timeout, in seconds: see [`timeout`]. False for a host without ticks.
    pub fn set_stall_timeout(&mut self, seconds: u64) -> bool {
        let Some(escalation) = &mut self.config.escalation else {
            return false;
        };
        escalation.stall = timeout(seconds, escalation.hz, false);
        true
    }

    /// The machine was stopped for a while (a debugger, a host that paused its guest): no report about the
    /// grace period in flight before three more scans have run and the timeout has passed once more
    /// (`rcu_cpu_stall_reset`).
    pub fn reset_stalls(&mut self) {
        if self.config.escalation.is_some() && self.gp_seq.state() != 0 {
            self.stall.reset = RESET_SCANS;
        }
    }

    /// Has the grace period in progress stalled, as `cpu` sees it? Read only: a [tick](crate::Cpu::tick)
    /// decides which CPU reports.
    pub fn stalled(&self, cpu: CpuId, now: Now) -> Option<Stall> {
        self.age(now)?;
        let at = self.stall_at();
        let late = |ticks| at != u64::MAX && now.jiffies >= at.saturating_add(ticks);
        if self.owes(cpu) {
            return late(0).then_some(Stall::Own);
        }
        late(OTHERS_LATER).then_some(Stall::Others)
    }

    /// The same at a tick of `cpu`, which reports if the result says so: no other CPU does, until the next
    /// time.
    pub(crate) fn claim_stall(&mut self, cpu: CpuId, now: Now, host: &impl Host) -> Option<Stall> {
        let stall = self.stalled(cpu, now)?;
        let timeout = self.stall_ticks();
        if !self.stall.gp.take(now.jiffies, timeout, REPEAT_TICKS) {
            return None;
        }
        self.counts.stalls += 1;
        trace(
            match stall {
                Stall::Own => StallEvent::SelfDetected,
                Stall::Others => StallEvent::StallDetected,
            },
            host,
        );
        Some(stall)
    }

    /// At a tick: has a requested grace period not started for this long? True for one CPU.
    pub(crate) fn claim_start_stall(&mut self, now: Now) -> bool {
        let timeout = self.stall_ticks();
        if timeout == 0 || self.phase != Phase::Idle || !self.wanted {
            self.stall.start = Due::NEVER;
            return false;
        }
        self.stall.start.begin(now.jiffies);
        self.stall.start.take(now.jiffies, timeout, REPEAT_TICKS)
    }

    /// The tick of the next report, without the holdout's patience.
    pub(crate) fn stall_at(&self) -> u64 {
        if self.stall.reset > 0 {
            return u64::MAX;
        }
        self.stall.gp.at(self.stall_ticks(), REPEAT_TICKS)
    }

    fn stall_ticks(&self) -> u64 {
        self.config.escalation.map_or(0, |it| it.stall)
    }

    fn exp_stall_ticks(&self) -> u64 {
        self.config.escalation.map_or(0, |it| it.exp_stall)
    }

    /// All CPUs that an expedited grace period waits for have been interrupted.
    pub(crate) fn stall_exp_asked(&mut self) {
        if self.config.escalation.is_some() {
            self.stall.exp.begin(self.now.jiffies);
        }
    }

    /// The driver of an expedited grace period waits: has it to report a stall? And in how many ticks will it
    /// have to?
    pub(crate) fn claim_exp_stall(&mut self, host: &impl Host) -> (bool, Option<u64>) {
        let (now, timeout) = (self.now.jiffies, self.exp_stall_ticks());
        let stalled = self.stall.exp.take(now, timeout, REPEAT_TICKS);
        if stalled {
            trace(StallEvent::ExpeditedStall, host);
        }
        let at = self.stall.exp.at(timeout, REPEAT_TICKS);
        (stalled, (at != u64::MAX).then(|| at.saturating_sub(now)))
    }
}

fn trace(event: StallEvent, host: &impl Host) {
    host.trace(&Event::StallWarning { event });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::periods::global::Phase;
    use crate::periods::host::Now;
    use alloc::vec::Vec;

    #[test]
    fn timeouts_are_clamped_and_longer_where_locks_are_checked() {
        let ticks = |seconds| timeout(seconds, 250, false);
        assert_eq!((ticks(21), ticks(0), ticks(1000)), (5250, 750, 75_000));
        assert_eq!(timeout(21, 100, true), 2600);
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
        let mut engine = Global::new(crate::periods::config::Config::kernel_6_12(2, 1000));
        engine.stall.exp.begin(100);
        engine.stall_gp_started();
        assert_eq!(engine.stall.exp.at(10, 3), 110, "a normal one has started");
        engine.stall.exp_ended();
        engine.stall.exp.begin(500);
        assert_eq!(engine.stall.exp.at(10, 3), 510, "it is another one");
    }

    #[test]
    fn reports_are_reset_for_a_grace_period_that_a_kernel_has_in_flight() {
        use crate::periods::config::Config;
        for (config, in_flight, reset) in [
            (Config::kernel_6_12(2, 1000), true, RESET_SCANS),
            (Config::kernel_6_12(2, 1000), false, 0),
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
        let mut engine = Global::new(crate::periods::config::Config::kernel_6_12(2, 1000));
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
