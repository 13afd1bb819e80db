//! Which CPUs execute: all at the same time, or one at a time.
//!
//! A CPU that has work *waits* for its turn. Where CPUs are parallel it begins at once. Where they are serial
//! it begins when the CPU that executes halts, *hands over*, or computes at the machine's next event; the CPU
//! with the next higher number has its turn first. An interrupt from another CPU gives a CPU work; where CPUs
//! are parallel it takes some time to arrive.
//!
//! # Handing over
//! An emulator of serial CPUs executes one of them up to the machine's next event. So a CPU that sets its
//! clock to an earlier time than all others makes it look again, and the others have their turns: in a
//! tick's handler before its soft interrupts, and when a CPU leaves the idle loop and starts its tick. One
//! that computes neither halts nor sets a clock: it executes until the next event, while all others wait, and
//! what takes one turn in an idle machine takes several ticks beside it.
//!
//! Clocks that are set for the same tick differ by less than a cycle, a matter of chance: so the first CPU to
//! set its clock hands over, the second one in half of the cases, the third in a third. Where the clocks'
//! frequency is wrong (`clock_early_ppm`) one that is set later for the same tick is less early, too.
//!
//! Each clock that goes off makes the emulator look again before a handler has begun; so the handlers begin
//! with the CPU after that whose clock is the last but one. A grace period's scan finds a CPU that has handed
//! over in its handler.
//!
//! One CPU counts jiffies for all (`wheel`). Who ticks before it sees the count of the jiffy before, and does
//! not notice a timer that is due.

use std::collections::BTreeSet;

use quiescent_kernel::CpuId;

use crate::input::options::Smp;
use crate::kernel::cpu::Exec;
use crate::kernel::event::Event;
use crate::kernel::state::{Rcu, System};

/// A clock counts whole cycles, of so many picoseconds.
pub(crate) const CYCLE_PS: u64 = 16_000;

impl System {
    /// An interrupt is due on `cpu`, or something is ready to run there.
    pub fn poke(&mut self, cpu: CpuId) {
        self.wants(cpu);
        self.start_some();
    }

    pub fn wants(&mut self, cpu: CpuId) {
        let cores = &self.cores;
        let computing = |it: &mut CpuId| cores[*it as usize].exec == Exec::Computing;
        if let Some(it) = self.executing.take_if(computing) {
            self.last = it;
            self.wants(it);
        }
        let core = &mut self.cores[cpu as usize];
        match core.exec {
            Exec::Halted => self.leaves_halt(cpu),
            Exec::Computing => {
                core.left = core.left.saturating_sub(self.now - core.since);
            }
            Exec::Waiting | Exec::Running => return,
        }
        let core = &mut self.cores[cpu as usize];
        core.exec = Exec::Waiting;
        core.work += 1;
        self.waiting.insert(cpu);
    }

    /// Lets those execute that may.
    pub fn start_some(&mut self) {
        match self.options.smp {
            Smp::Parallel => {
                while let Some(cpu) = self.waiting.pop_first() {
                    self.begin(cpu);
                }
            }
            Smp::Serial if self.executing.is_none() => {
                let after = self.waiting.range(self.last + 1..).next();
                self.executing = after.or_else(|| self.waiting.first()).copied();
                if let Some(cpu) = self.executing {
                    self.waiting.remove(&cpu);
                    self.begin(cpu);
                }
            }
            Smp::Serial => {}
        }
    }

    fn begin(&mut self, cpu: CpuId) {
        let core = &mut self.cores[cpu as usize];
        core.exec = Exec::Running;
        core.work += 1;
        let work = core.work;
        // A CPU that was halted has to wake up first.
        let idling = self.idling.as_mut();
        let at = self.now + idling.map_or(0, |it| it.take_latency(cpu));
        self.queue.put(at, Event::Done { cpu, work });
    }

    /// `cpu` goes on after the others that wait.
    pub fn waits(&mut self, cpu: CpuId) {
        self.cores[cpu as usize].exec = Exec::Waiting;
        self.waiting.insert(cpu);
        self.release(cpu);
    }

    /// `cpu` has set its clock. Is that the machine's next event?
    pub fn sets_clock(&mut self, cpu: CpuId) {
        if self.options.smp == Smp::Parallel {
            return;
        }
        let away = self.begins(self.jiffy_now() + 1) - self.now;
        let wrong = away as i64 * self.options.clock_early_ppm / 1000;
        self.cores[cpu as usize].late_ps = -wrong - self.chance.below(CYCLE_PS) as i64;
        let tick = self.tick_of(cpu);
        let alarm = self.next_alarm(|it| it == cpu).map(|at| (at, 0));
        let Some(own) = tick.into_iter().chain(alarm).min() else {
            return;
        };
        // Whose clock has gone off sets it in its own handler.
        let set = |it: CpuId| it != cpu && !self.cores[it as usize].has_irq();
        let mut others = (0..self.options.cpus).filter(|&it| set(it));
        let first = !others.any(|it| self.tick_of(it).is_some_and(|it| it < own));
        let mut before = self.alarms.iter().take_while(|it| it.0 < own.0);
        self.cores[cpu as usize].hands_over = first && !before.any(|it| set(it.1));
    }

    /// When the CPU has its next tick, or its clock for timers goes off, and how late that is.
    fn tick_of(&self, cpu: CpuId) -> Option<(u64, i64)> {
        let jiffy = self.wheel.next_clock(self.jiffy_now() + 1, cpu)?;
        Some((self.begins(jiffy), self.cores[cpu as usize].late_ps))
    }

    /// Clocks of these CPUs go off at the same instant. Which one takes its interrupt first?
    pub fn go_off(&mut self, due: &BTreeSet<CpuId>) {
        if self.options.smp == Smp::Parallel || self.executing.is_some() {
            return;
        }
        let mut due: Vec<CpuId> = due.iter().copied().collect();
        due.sort_by_key(|&it| self.cores[it as usize].late_ps);
        let [.., before, _] = due[..] else { return };
        self.last = before;
    }

    /// When the first sleep of these CPUs ends that ends by a clock of its own.
    pub fn next_alarm(&self, of: impl Fn(CpuId) -> bool) -> Option<u64> {
        self.alarms.iter().find(|it| of(it.1)).map(|it| it.0)
    }

    /// `cpu` does not execute any more: others may.
    pub fn release(&mut self, cpu: CpuId) {
        if self.executing == Some(cpu) {
            self.executing = None;
            self.last = cpu;
            self.start_some();
        }
    }

    /// `waker` wants `cpu` to look.
    pub fn send_ipi(&mut self, rcu: &Rcu, cpu: CpuId, waker: CpuId) {
        let task = self.sent_for();
        if cpu == waker || !self.cores[cpu as usize].online {
            return;
        }
        self.stats.totals.ipis += u64::from(self.stats.counts(self.now));
        let faulty = self.faulty.as_mut();
        let Some(late) = faulty.map_or(Some(0), |it| it.interrupt(&self.options, cpu)) else {
            return;
        };
        self.interrupt_sent(rcu, cpu, task);
        match self.options.smp {
            Smp::Parallel => {
                let at = self.now + self.options.costs.ipi + late;
                self.queue.put(at, Event::Ipi { cpu });
            }
            Smp::Serial => {
                self.cores[cpu as usize].ipi = true;
                self.poke(cpu);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::options::Options;

    #[test]
    fn the_handlers_of_a_tick_begin_after_the_last_clock_but_one() {
        let mut system = System::new(Options {
            smp: Smp::Serial,
            ..Options::kernel_6_12(4, 250)
        });
        for (cpu, late) in [(0, 30), (1, 10), (2, 40), (3, 20)] {
            system.cores[cpu].late_ps = late;
        }
        system.executing = None;
        system.go_off(&BTreeSet::from([0, 1, 2, 3]));
        assert_eq!(system.last, 0, "clocks in the order 1, 3, 0, 2");
        system.go_off(&BTreeSet::from([1, 3]));
        assert_eq!(system.last, 1, "of two: the earlier one");
    }
}
