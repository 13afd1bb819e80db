//! Which CPUs execute: all at the same time, or one at a time.
//!
//! A CPU that has work *waits* for its turn. Where CPUs are parallel it begins at once. Where they are serial
//! it begins when the CPU that executes halts or computes; the CPU with the next higher number has its turn
//! first. An interrupt from another CPU gives a CPU work; where CPUs are parallel it takes some time to
//! arrive.

use quiescent_kernel::CpuId;

use crate::input::options::Smp;
use crate::kernel::cpu::Exec;
use crate::kernel::event::Event;
use crate::kernel::state::Machine;

impl Machine {
    /// An interrupt is due on `cpu`, or something is ready to run there.
    pub(crate) fn poke(&mut self, cpu: CpuId) {
        self.wants(cpu);
        self.start_some();
    }

    pub(crate) fn wants(&mut self, cpu: CpuId) {
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
    pub(crate) fn start_some(&mut self) {
        match self.options.smp {
            Smp::Parallel => {
                while let Some(cpu) = self.waiting.pop_first() {
                    self.begin(cpu);
                }
            }
            Smp::Serial => {
                if self.executing.is_some() {
                    return;
                }
                let after = self.waiting.range(self.last + 1..).next();
                let Some(&cpu) = after.or_else(|| self.waiting.first()) else {
                    return;
                };
                self.waiting.remove(&cpu);
                self.executing = Some(cpu);
                self.begin(cpu);
            }
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

    /// `cpu` does not execute any more: others may.
    pub(crate) fn release(&mut self, cpu: CpuId) {
        if self.executing == Some(cpu) {
            self.executing = None;
            self.last = cpu;
            self.start_some();
        }
    }

    /// `waker` wants `cpu` to look.
    pub(crate) fn send_ipi(&mut self, cpu: CpuId, waker: CpuId) {
        let task = self.sent_for();
        if cpu == waker || !self.cores[cpu as usize].online {
            return;
        }
        self.stats.totals.ipis += u64::from(self.stats.counts(self.now));
        let Some(late) = self.interrupt_goes_wrong(cpu) else {
            return;
        };
        self.interrupt_sent(cpu, task);
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
