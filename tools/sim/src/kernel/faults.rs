//! Faults that are injected into a machine on request.
//!
//! No fault may make a grace period too short: an engine that learns of an event late, or never, waits
//! longer. When the faults end ([`calm`](crate::Machine::calm)), everything that was held up must make
//! progress again.
//!
//! | fault | what |
//! |---|---|
//! | late | a wake-up of one of RCU's threads arrives some jiffies later |
//! | starved | the same, seconds later: others had the CPU |
//! | lost | it does not arrive, until the thread is woken again or the faults end |
//! | late interrupt | an interrupt from another CPU takes up to a jiffy (CPUs that run in parallel) |
//! | lost interrupt | it does not arrive until the faults end |
//! | standstill | a CPU stops in the middle of what it does, as a virtual one whose host is busy |
//! | skew | CPUs' clocks differ: each is ahead of time by an amount of its own |
//!
//! Wake-ups of the workload's tasks are not delayed: their delay would not test the engine.

use std::collections::BTreeSet;

use quiescent_kernel::CpuId;

use crate::base::chance::Chance;
use crate::input::options::{Options, Smp};
use crate::kernel::state::{Faults, Faulty};

/// The longest that a starved thread waits, in nanoseconds.
const STARVED: u64 = 3_000_000_000;

impl Faults {
    /// Some of each, or of some, by chance.
    pub fn any(chance: &mut Chance) -> Faults {
        let mut often = |most| match chance.below(2) {
            0 => 0,
            _ => 1 + chance.below(most) as u32,
        };
        Faults {
            late: often(200),
            starved: often(10),
            lost: often(50),
            late_interrupts: often(200),
            lost_interrupts: often(20),
            standstills: often(3),
            skew: u64::from(often(4)) * 1_000_000,
        }
    }
}

impl Faulty {
    pub fn new(faults: Faults, seed: u64, cpus: u32) -> Faulty {
        let mut chance = Chance::new(seed);
        Faulty {
            faults,
            ahead: (0..cpus).map(|_| chance.below(faults.skew + 1)).collect(),
            chance,
            lost: BTreeSet::new(),
            lost_interrupts: BTreeSet::new(),
            happened: 0,
        }
    }

    /// Is a wake-up of this thread of RCU's not made now? When it is made, if it is.
    pub fn delays(&mut self, options: &Options, task: usize) -> Option<Option<u64>> {
        let faults = self.faults;
        if self.hits(faults.lost) {
            self.lost.insert(task);
            return Some(None);
        }
        let most = if self.hits(faults.starved) {
            STARVED
        } else if self.hits(faults.late) {
            4 * options.jiffy_ns()
        } else {
            self.lost.remove(&task);
            return None;
        };
        Some(Some(1 + self.chance.below(most)))
    }

    /// How late an interrupt is; none if it does not arrive.
    pub fn interrupt(&mut self, options: &Options, cpu: CpuId) -> Option<u64> {
        let faults = self.faults;
        if self.hits(faults.lost_interrupts) {
            self.lost_interrupts.insert(cpu);
            return None;
        }
        if options.smp == Smp::Parallel && self.hits(faults.late_interrupts) {
            return Some(self.chance.below(options.jiffy_ns()));
        }
        Some(0)
    }

    /// How long a CPU stands still in the piece of work that it begins.
    pub fn standstill(&mut self, options: &Options) -> u64 {
        match self.hits(self.faults.standstills) {
            true => self.chance.below(20 * options.jiffy_ns()),
            false => 0,
        }
    }

    fn hits(&mut self, permille: u32) -> bool {
        let hit = permille > 0 && self.chance.permille(permille);
        self.happened += u64::from(hit);
        hit
    }
}
