//! The thread host's part: the driver notices and reports.

use super::{REPEAT_NS, Stalled, trace};
use crate::common::config::Pace;
use crate::common::event::StallEvent;
use crate::common::fqs::Wait;
use crate::common::global::{Global, Interest, Phase};
use crate::common::host::{CpuId, Host};

impl Global {
    /// Reports stalls after this number of nanoseconds; 0: never. True if a sleeping driver has to be woken
    /// to use the new time. No effect in a host that counts ticks.
    pub fn set_stall_ns(&mut self, ns: u64) -> bool {
        let Pace::Direct { stall_ns, .. } = &mut self.config.pace else {
            return false;
        };
        *stall_ns = ns;
        self.driver.is_some() && self.phase == Phase::Wait(Wait::Asleep)
    }

    /// The readers for which the grace period waits, each with the stamp it has had since the first scan. A
    /// reader with another stamp now has left since.
    pub fn in_the_way(&self) -> impl Iterator<Item = (CpuId, u64)> + '_ {
        let tree = self.tree.as_ref();
        let stamp = move |cpu: CpuId| tree.map_or(0, |tree| tree.scan[cpu as usize].snap);
        self.holdouts().map(move |cpu| (cpu, stamp(cpu)))
    }

    pub(super) fn stall_ns(&self) -> u64 {
        match self.config.pace {
            Pace::Direct { stall_ns, .. } => stall_ns,
            Pace::Jiffies { .. } => 0,
        }
    }

    /// A scan has found a holdout.
    pub(crate) fn blocked(&mut self) {
        let now = self.now.ns;
        self.stall.blocked_since.get_or_insert(now);
        self.stall.gp.begin(now);
    }

    /// The longest sleep of a driver.
    pub(crate) fn next_stall(&self) -> u64 {
        self.stall.gp.at(self.stall_ns(), REPEAT_NS)
    }

    /// A scan begins: is a report due?
    pub(super) fn notice_stall(&mut self) {
        let passing = self
            .driver
            .is_none_or(|driver| driver.interest == Interest::Passing);
        let (now, timeout) = (self.now.ns, self.stall_ns());
        if !passing && self.stall.gp.take(now, timeout, REPEAT_NS) {
            self.counts.stalls += 1;
            self.stall.noticed = true;
        }
    }

    /// A scan has ended with a holdout: has the driver to report?
    pub(crate) fn stalled_readers(&mut self, host: &impl Host) -> Option<Stalled> {
        let passing = self
            .driver
            .is_none_or(|driver| driver.interest == Interest::Passing);
        if passing || !core::mem::take(&mut self.stall.noticed) {
            return None;
        }
        trace(StallEvent::StallDetected, host);
        Some(Stalled {
            gp_seq: self.gp_seq,
            grace_period: self.counts.grace_periods + 1,
            nth: self.stall.gp.reports,
            since_ns: self.stall.blocked_since.unwrap_or(self.now.ns),
            now_ns: self.now.ns,
        })
    }
}
