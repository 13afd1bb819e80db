//! A kernel's part: every CPU checks at its tick, and one reports for all.

use super::{Due, OTHERS_LATER, REPEAT_TICKS, RESET_SCANS, Stall, timeout, trace};
use crate::common::event::StallEvent;
use crate::common::global::{Global, Phase};
use crate::common::host::{CpuId, Host, Now};

impl Global {
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
