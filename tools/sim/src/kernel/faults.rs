//! Faults that are injected into a machine on request.
//!
//! No fault may make a grace period too short: an engine that learns of an event late, or never, waits
//! longer. When the faults end ([`Machine::calm`]), everything that was held up must make progress again.
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

use quiescent_kernel::CpuId;

use crate::base::chance::Chance;
use crate::input::options::Smp;
use crate::kernel::event::Event;
use crate::kernel::state::{Faults, Faulty, Rcu, System};
use crate::kernel::task::Kind;

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

impl System {
    /// A late wake-up arrives; the waker may be doing something else by now, so the CPU is interrupted in any
    /// case.
    pub(crate) fn wake_late(&mut self, rcu: &Rcu, task: usize, waker: CpuId) {
        self.wake_now(rcu, task, self.heir(waker));
        if let Some(cpu) = self.tasks[task].cpu {
            self.queue.put(self.now, Event::Ipi { cpu });
        }
    }

    /// Threads whose wake-up was lost, and CPUs whose interrupt was.
    pub(crate) fn held_up(&self) -> (Vec<usize>, Vec<CpuId>) {
        self.faulty.as_ref().map_or_else(Default::default, |it| {
            let lost = it.lost.iter().copied().collect();
            (lost, it.lost_interrupts.iter().copied().collect())
        })
    }

    /// Is this wake-up not made now?
    pub(crate) fn wake_goes_wrong(&mut self, task: usize, waker: CpuId) -> bool {
        let Some(it) = &mut self.faulty else {
            return false;
        };
        if matches!(self.tasks[task].kind, Kind::Work(_)) {
            return false;
        }
        let faults = it.faults;
        if it.hits(faults.lost) {
            it.lost.insert(task);
            return true;
        }
        let most = if it.hits(faults.starved) {
            STARVED
        } else if it.hits(faults.late) {
            4 * self.options.jiffy_ns()
        } else {
            it.lost.remove(&task);
            return false;
        };
        let at = self.now + 1 + it.chance.below(most);
        self.queue.put(at, Event::Late { task, waker });
        true
    }

    /// How late an interrupt is; none if it does not arrive.
    pub(crate) fn interrupt_goes_wrong(&mut self, cpu: CpuId) -> Option<u64> {
        let Some(it) = &mut self.faulty else {
            return Some(0);
        };
        let faults = it.faults;
        if it.hits(faults.lost_interrupts) {
            it.lost_interrupts.insert(cpu);
            return None;
        }
        if self.options.smp == Smp::Parallel && it.hits(faults.late_interrupts) {
            return Some(it.chance.below(self.options.jiffy_ns()));
        }
        Some(0)
    }

    /// How long a CPU stands still in the piece of work that it begins.
    pub(crate) fn standstill(&mut self) -> u64 {
        let Some(it) = &mut self.faulty else { return 0 };
        let often = it.faults.standstills;
        if !it.hits(often) {
            return 0;
        }
        it.chance.below(20 * self.options.jiffy_ns())
    }

    /// How far this CPU's clock is ahead.
    pub(crate) fn clock_ahead(&self, cpu: CpuId) -> u64 {
        let faulty = self.faulty.as_ref();
        faulty.map_or(0, |it| it.ahead[cpu as usize])
    }
}

impl Faulty {
    fn hits(&mut self, permille: u32) -> bool {
        let hit = permille > 0 && self.chance.permille(permille);
        self.happened += u64::from(hit);
        hit
    }
}
