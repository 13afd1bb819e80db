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
use crate::kernel::state::{Lock, LockTable, Locks, System};

impl Lock {
    /// `cpu` takes it at this time, for so long; a line that moves takes `line`. How long it spins, and
    /// whether the line moves.
    fn take(&mut self, cpu: CpuId, at: u64, hold: u64, line: u64) -> (u64, bool) {
        let is_other = |it: Option<CpuId>| it.is_some_and(|it| it != cpu);
        if is_other(self.owner) && at < self.from {
            // That stretch is still to come, and stays the last.
            let moves = is_other(self.before);
            self.before = Some(cpu);
            return (0, moves);
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
        (spins, other)
    }

    /// `cpu` takes it `after` nanoseconds from now, and holds it for `inside` more than a lock takes. What
    /// that costs beside `inside`.
    fn cost(&mut self, sys: &mut System, cpu: CpuId, after: u64, inside: u64) -> u64 {
        let costs = sys.options.costs;
        let (spins, moves) = self.take(cpu, sys.now + after, costs.lock + inside, costs.line);
        if sys.counts() {
            sys.stats.totals.lock_waits += u64::from(spins > 0);
            sys.stats.totals.lock_wait_ns += spins;
        }
        costs.lock + spins + if moves { costs.line } else { 0 }
    }
}

impl LockTable {
    /// The locks of a CPU, if locks and lines cost anything.
    fn of(&mut self, sys: &System, whose: CpuId) -> Option<&mut Locks> {
        let costs = sys.options.costs;
        let cost = sys.options.smp == Smp::Parallel && costs.lock + costs.line > 0;
        cost.then(|| self.0.entry(whose).or_default())
    }

    /// The locks for a callback that an offloaded CPU queues: into its bypass, or into its list with the
    /// bypass in front of it.
    pub fn queues(&mut self, sys: &mut System, cpu: CpuId, into_bypass: bool) -> u64 {
        let Some(it) = self.of(sys, cpu) else {
            return 0;
        };
        let hidden = std::mem::replace(&mut it.hidden, into_bypass);
        let mut cost = 0;
        if into_bypass || hidden {
            cost += it.bypass.cost(sys, cpu, 0, 0);
        }
        if !(into_bypass && hidden) {
            cost += it.list.cost(sys, cpu, cost, 0);
        }
        sys.took(cost);
        cost
    }

    /// The locks for the look of rcuog, on `cpu`, at a member; `flushes` if it moves the bypass to the list.
    pub fn looks(
        &mut self,
        sys: &mut System,
        (cpu, member): (CpuId, CpuId),
        after: u64,
        flushes: bool,
    ) -> u64 {
        let Some(it) = self.of(sys, member) else {
            return 0;
        };
        let mut cost = it.list.cost(sys, cpu, after, sys.options.costs.scan);
        if flushes {
            cost += it.bypass.cost(sys, cpu, after + cost, 0);
            it.hidden = false;
        }
        cost
    }

    /// The locks around a batch of so many callbacks, and the lines that move if `cpu` has not queued them.
    pub fn invokes(&mut self, sys: &mut System, whose: CpuId, cpu: CpuId, n: u64) -> u64 {
        let Some(it) = self.of(sys, whose) else {
            return 0;
        };
        let costs = sys.options.costs;
        let first = it.list.cost(sys, cpu, 0, 0);
        let lines = if cpu == whose { 0 } else { n * costs.line };
        let over = first + lines + n * costs.callback;
        first + lines + it.list.cost(sys, cpu, over, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_comes_while_another_holds_a_lock_spins_and_a_line_moves() {
        let mut lock = Lock::default();
        assert_eq!(lock.take(1, 1000, 50, 100), (0, false), "not taken yet");
        assert_eq!(lock.take(1, 1010, 50, 100), (0, false), "its own");
        assert_eq!(lock.take(2, 1030, 700, 100), (30, true));
        // Held from 1160 to 1860, and not before.
        assert_eq!(lock.take(1, 1100, 20, 100), (0, false));
        assert_eq!(lock.take(1, 1700, 20, 100), (160, true));
        assert_eq!(lock.take(2, 9000, 20, 100), (0, true), "free, but not here");
    }
}
