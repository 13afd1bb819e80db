//! A task that takes CPUs offline and brings them back, or changes whether their callbacks are offloaded.

use quiescent_kernel::CpuId;

use crate::base::chance::Chance;
use crate::input::op::{Op, Work};

/// Changes one CPU after the other, and changes each back after a while.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plugger {
    /// The CPUs, in turn.
    pub cpus: Vec<CpuId>,
    /// Nanoseconds from the return of one to the departure of the next.
    pub every: u64,
    /// Nanoseconds that each is away.
    pub away: u64,
    /// They take their callbacks back, and are offloaded again later; they stay online.
    pub offload: bool,
    /// Those times are exponentially distributed with these means.
    pub vary: bool,
    /// What they are drawn from.
    pub chance: Chance,
    /// Changes that are over.
    pub changes: usize,
    /// It has slept, and makes the next change.
    pub slept: bool,
}

impl Work for Plugger {
    fn next(&mut self, now: u64) -> Op {
        if self.cpus.is_empty() {
            return Op::Exit;
        }
        let back = self.changes % 2 == 1;
        self.slept = !self.slept;
        if self.slept {
            let mean = if back { self.away } else { self.every };
            return Op::SleepUntil(now + self.chance.pause(mean, self.vary).max(1));
        }
        let cpu = self.cpus[self.changes / 2 % self.cpus.len()];
        self.changes += 1;
        match (self.offload, back) {
            (false, false) => Op::Offline(cpu),
            (false, true) => Op::Online(cpu),
            (true, false) => Op::Deoffload(cpu),
            (true, true) => Op::Offload(cpu),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_goes_and_comes_back_before_the_next_one_goes() {
        let mut work = Plugger {
            cpus: vec![3, 5],
            every: 10,
            away: 4,
            offload: false,
            vary: false,
            chance: Chance::new(1),
            changes: 0,
            slept: false,
        };
        let done: Vec<Op> = (0..8).map(|_| work.next(100)).collect();
        let (pause, away) = (Op::SleepUntil(110), Op::SleepUntil(104));
        let first = [pause.clone(), Op::Offline(3), away.clone(), Op::Online(3)];
        assert_eq!(done[..4], first);
        assert_eq!(done[4..], [pause, Op::Offline(5), away, Op::Online(5)]);
        work.offload = true;
        work.next(0);
        assert_eq!(work.next(0), Op::Deoffload(3));
    }
}
