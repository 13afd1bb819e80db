//! The locks of an offloaded CPU's callbacks, and cache lines that move between CPUs.
//!
//! A CPU that invokes its own callbacks needs no lock of their list, and finds its lines in its cache. An
//! offloaded CPU shares list and bypass with two threads on other CPUs: it takes a lock for each callback
//! that it queues, rcuog one for each look, rcuop two for each batch, and each callback's line has to move to
//! the CPU that invokes it.
//!
//! # Model
//! A lock is held for a stretch of time by one CPU. A CPU that wants it within another's stretch spins until
//! its end, and a lock that another CPU has held last costs the move of a line. rcuog holds the list's lock
//! as long as it looks at a member (`cost.scan_ns`); all others hold a lock for `cost.lock_ns`. The work
//! before a lock in the same piece of work is part of the time at which it is taken, so a stretch can begin
//! later than now.
//!
//! The traces of a virtual machine do not contain these costs: its CPUs ran in turn, without caches. So they
//! are 0 unless they are set (the experiment `flood` assumes some), and nothing of this is counted then; nor
//! with `smp=serial`.

use quiescent_kernel::CpuId;

use crate::input::options::Smp;
use crate::kernel::state::{Lock, Machine};

/// Which lock of a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    /// The list's.
    List,
    /// The bypass's.
    Bypass,
}

/// What taking a lock takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Taking {
    spins: u64,
    moves: bool,
}

impl Lock {
    /// `cpu` takes it at this time, for so long; a line that moves takes `line`.
    fn take(&mut self, cpu: CpuId, at: u64, hold: u64, line: u64) -> Taking {
        let is_other = |it: Option<CpuId>| it.is_some_and(|it| it != cpu);
        if is_other(self.owner) && at < self.from {
            // That stretch is still to come, and stays the last.
            let moves = is_other(self.before);
            self.before = Some(cpu);
            return Taking { spins: 0, moves };
        }
        let other = is_other(self.owner);
        let held = other && (self.from..self.until).contains(&at);
        let spins = if held { self.until - at } else { 0 };
        let from = at + spins + if other { line } else { 0 };
        *self = Lock {
            before: self.owner,
            owner: Some(cpu),
            from,
            until: from + hold,
        };
        Taking {
            spins,
            moves: other,
        }
    }
}

impl Machine {
    /// Do locks and lines cost anything?
    fn has_locks(&self) -> bool {
        let costs = self.sys.options.costs;
        self.sys.options.smp == Smp::Parallel && costs.lock + costs.line > 0
    }

    /// `cpu` takes a lock of the CPU `whose`, `after` nanoseconds from now, and holds it for `inside` more
    /// than a lock takes. What that costs beside `inside`.
    fn takes(
        &mut self,
        (whose, which): (CpuId, Which),
        cpu: CpuId,
        after: u64,
        inside: u64,
    ) -> u64 {
        let costs = self.sys.options.costs;
        let locks = self.locks.entry(whose).or_default();
        let lock = match which {
            Which::List => &mut locks.list,
            Which::Bypass => &mut locks.bypass,
        };
        let taking = lock.take(cpu, self.sys.now + after, costs.lock + inside, costs.line);
        if self.sys.stats.counts(self.sys.now) {
            self.sys.stats.totals.lock_waits += u64::from(taking.spins > 0);
            self.sys.stats.totals.lock_wait_ns += taking.spins;
        }
        costs.lock + taking.spins + if taking.moves { costs.line } else { 0 }
    }

    /// The locks for a callback that an offloaded CPU queues: into its bypass, or into its list with the
    /// bypass in front of it.
    pub(crate) fn queues_under_lock(&mut self, cpu: CpuId, into_bypass: bool) -> u64 {
        if !self.has_locks() {
            return 0;
        }
        let hidden = self.locks.entry(cpu).or_default().hidden;
        let mut cost = 0;
        if into_bypass || hidden {
            cost += self.takes((cpu, Which::Bypass), cpu, 0, 0);
        }
        if !(into_bypass && hidden) {
            cost += self.takes((cpu, Which::List), cpu, cost, 0);
        }
        self.locks.entry(cpu).or_default().hidden = into_bypass;
        self.sys.took(cost);
        cost
    }

    /// The locks for rcuog's look at a member; `flushes` if it moves the bypass to the list.
    pub(crate) fn looks_under_lock(
        &mut self,
        cpu: CpuId,
        member: CpuId,
        after: u64,
        flushes: bool,
    ) -> u64 {
        if !self.has_locks() {
            return 0;
        }
        let mut cost = self.takes(
            (member, Which::List),
            cpu,
            after,
            self.sys.options.costs.scan,
        );
        if flushes {
            cost += self.takes((member, Which::Bypass), cpu, after + cost, 0);
            self.locks.entry(member).or_default().hidden = false;
        }
        cost
    }

    /// The locks around a batch of so many callbacks, and the lines that move if `cpu` has not queued them.
    pub(crate) fn invokes_under_lock(
        &mut self,
        whose: CpuId,
        cpu: CpuId,
        after: u64,
        n: u64,
    ) -> u64 {
        if !self.has_locks() {
            return 0;
        }
        let first = self.takes((whose, Which::List), cpu, after, 0);
        let lines = if cpu == whose {
            0
        } else {
            n * self.sys.options.costs.line
        };
        let work = n * self.sys.options.costs.callback;
        let last = self.takes((whose, Which::List), cpu, after + first + lines + work, 0);
        first + lines + last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_comes_while_another_holds_a_lock_spins_and_a_line_moves() {
        let mut lock = Lock::default();
        let taking = |spins, moves| Taking { spins, moves };
        assert_eq!(
            lock.take(1, 1000, 50, 100),
            taking(0, false),
            "not taken yet"
        );
        assert_eq!(lock.take(1, 1010, 50, 100), taking(0, false), "its own");
        assert_eq!(lock.take(2, 1030, 700, 100), taking(30, true));
        // Held from 1160 to 1860, and not before.
        assert_eq!(lock.take(1, 1100, 20, 100), taking(0, false));
        assert_eq!(lock.take(1, 1700, 20, 100), taking(160, true));
        assert_eq!(
            lock.take(2, 9000, 20, 100),
            taking(0, true),
            "free, but not here"
        );
    }
}
