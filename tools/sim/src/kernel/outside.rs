//! Ticks and interrupts of a recorded machine that are not the model's: an input, like recorded arrivals.

use quiescent_kernel::CpuId;

use crate::kernel::event::Event;
use crate::kernel::state::Machine;

impl Machine {
    /// Ticks unrelated to RCU: CPU, and time in nanoseconds.
    pub(crate) fn outside_ticks(&mut self, ticks: &[(CpuId, u64)]) {
        let (jiffy, first) = (self.options.jiffy_ns(), self.options.jiffies);
        for &(cpu, at) in ticks {
            let cpu = cpu.min(self.options.cpus - 1);
            self.wheel.ring_outside(cpu, first + at / jiffy);
        }
        self.expect_jiffy();
    }

    /// Interrupts without an effect: CPU, and time in nanoseconds.
    pub(crate) fn outside_interrupts(&mut self, interrupts: &[(CpuId, u64)]) {
        for &(cpu, at) in interrupts {
            let cpu = cpu.min(self.options.cpus - 1);
            self.queue.put(at, Event::Ipi { cpu });
        }
    }
}
