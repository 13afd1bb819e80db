//! Random machines, and tasks that do anything at any time.

use quiescent_engine::EarlyQs;
use quiescent_engine::fast_no_hz::{FastNoHz, IdleRule};
use quiescent_engine::offload::Policy;
use quiescent_sim::chance::Chance;
use quiescent_sim::{IdleLoop, Op, Options, Smp, Work};

/// A machine of up to twelve CPUs in small leaves, every option by chance; its times are short.
pub fn machine(chance: &mut Chance) -> Options {
    let cpus = 1 + chance.below(12) as u32;
    let hz = [100, 250, 1000][chance.below(3) as usize];
    let one_of = |chance: &mut Chance, n| chance.below(n) == 0;
    let offloaded = chance.below(3);
    let nocbs = (0..cpus).filter(|_| chance.below(2) < offloaded);
    Options {
        nocbs: nocbs.collect(),
        smp: [Smp::Serial, Smp::Parallel][chance.below(2) as usize],
        idle_loop: [IdleLoop::Classic, IdleLoop::Retain][chance.below(2) as usize],
        early_qs: [EarlyQs::Off, EarlyQs::Scan, EarlyQs::Init][chance.below(3) as usize],
        first_fqs: Some(chance.below(5)),
        next_fqs: Some(1 + chance.below(4)),
        idle_rule: [
            IdleRule::Tick,
            IdleRule::FastNoHz(FastNoHz::v5_6(hz)),
            IdleRule::FastNoHz(FastNoHz::v5_10(hz)),
        ][chance.below(3) as usize],
        wake_from_gp: one_of(chance, 2),
        expedited: one_of(chance, 8),
        normal: one_of(chance, 8),
        accelerate_only_new: !one_of(chance, 4),
        lazy: one_of(chance, 2),
        lazy_flush_ms: 300,
        policy: [Policy::Kernel612, Policy::Quiescent][chance.below(2) as usize],
        leaf_fanout: 2 + chance.below(3) as u32,
        fanout: 2 + chance.below(3) as u32,
        gp_cpu: chance.below(u64::from(cpus)) as u32,
        stepwise: one_of(chance, 2),
        frozen_permille: 300 * chance.below(2) as u32,
        seed: chance.next(),
        ..Options::kernel_6_12(cpus, hz)
    }
}

/// A task that does so many things.
pub struct Anything {
    chance: Chance,
    left: u64,
    depth: u64,
    /// Callbacks that follow the last one at once.
    burst: u64,
    /// CPUs that it may take offline, and bring back.
    plugs: u64,
    /// The longest that it computes or sleeps at once, in nanoseconds.
    long: u64,
}

impl Anything {
    pub fn new(seed: u64, deeds: u64, plugs: u32) -> Anything {
        let mut chance = Chance::new(seed);
        let long = [50_000, 2_000_000, 20_000_000][chance.below(3) as usize];
        Anything {
            chance,
            left: deeds,
            depth: 0,
            burst: 0,
            plugs: plugs.into(),
            long,
        }
    }

    fn outside(&mut self, now: u64) -> Op {
        match self.chance.below(16) {
            0 | 1 => Op::SleepUntil(now + self.chance.below(self.long)),
            2 => Op::Synchronize,
            3 => Op::SynchronizeExpedited,
            4 if self.chance.below(2) == 0 => Op::Barrier,
            _ => self.anywhere(now),
        }
    }

    fn anywhere(&mut self, now: u64) -> Op {
        match self.chance.below(16) {
            0..=4 => {
                self.depth += 1;
                Op::Lock
            }
            5..=9 if self.depth > 0 => {
                self.depth -= 1;
                Op::Unlock
            }
            10 => Op::Compute(self.chance.below(self.long)),
            11 => Op::Kernel(self.chance.below(50_000)),
            // As where sections can sleep.
            12 if self.chance.below(4) == 0 => Op::SleepUntil(now + self.chance.below(self.long)),
            13 if self.plugs > 0 && self.chance.below(2) == 0 => {
                let cpu = self.chance.below(self.plugs) as u32;
                [Op::Offline(cpu), Op::Online(cpu)][self.chance.below(2) as usize].clone()
            }
            14 if self.chance.below(8) == 0 => {
                self.burst = self.chance.below(300);
                self.call()
            }
            _ => self.call(),
        }
    }

    fn call(&mut self) -> Op {
        Op::Call {
            func: 0,
            lazy: self.chance.below(2) == 0,
            can_wake: self.chance.below(4) > 0,
        }
    }
}

impl Work for Anything {
    fn next(&mut self, now: u64) -> Op {
        if let Some(left) = self.burst.checked_sub(1) {
            self.burst = left;
            return self.call();
        }
        let Some(left) = self.left.checked_sub(1) else {
            return Op::Exit; // in the middle of a section, as like as not
        };
        self.left = left;
        if self.depth > 0 {
            self.anywhere(now)
        } else {
            self.outside(now)
        }
    }
}
