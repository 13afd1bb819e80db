//! What the rig's worker does when its timer fires: a look at a queue, and at what the program has said meanwhile.

use quiescent_engine::credit::Cause;
use quiescent_engine::replay::{CpuInput, Input, Output};
use quiescent_engine::{Cpu, Now};

use super::Rig;

impl Rig {
    /// The program changes its mind.
    fn tune(&mut self, at: usize) {
        let global = self.host.engine_mut();
        let drained = self.random.below(2) == 0;
        global.set_drained(drained);
        self.write(Input::SetDrained { drained }, Output::Done(true));
        let (lazy_ns, prompt_ns) = (self.below(100), self.below(10));
        let global = self.host.engine_mut();
        global.set_flush_times(lazy_ns, prompt_ns);
        let input = Input::SetFlushTimes { lazy_ns, prompt_ns };
        self.write(input, Output::Done(true));
        let now_ns = self.now().ns;
        self.on(
            at,
            CpuInput::Retime { now_ns },
            |cpu, global, _, _| cpu.retime(global, now_ns),
            |deadline| Output::Deadline(*deadline),
        );
    }

    /// Somebody says that memory is low, or not; the worker looks.
    fn pressure(&mut self, now: Now) -> bool {
        let global = self.host.engine_mut();
        let low = global.memory_low(now);
        let take = global.take_pressure(now);
        self.write(Input::MemoryLow { now }, Output::Low(low));
        self.write(Input::TakePressure { now }, Output::Done(take));
        take
    }

    pub(super) fn timer(&mut self, at: usize) {
        if self.random.below(4) == 0 {
            return self.tune(at);
        }
        let now = self.now();
        let low = self.pressure(now);
        let due = |due: &Option<Cause>| Output::Due(*due);
        let look = |cpu: &mut Cpu| cpu.due(now, low);
        self.on(
            at,
            CpuInput::Due { now, low },
            |cpu, _, _, _| look(cpu),
            due,
        );
        let deadline = self.on(
            at,
            CpuInput::Deadline,
            |cpu, _, _, _| cpu.deadline(),
            |deadline| Output::Deadline(*deadline),
        );
        if let Some(deadline_ns) = deadline {
            let set = self.host.engine_mut().arm(deadline_ns);
            self.write(Input::Arm { deadline_ns }, Output::Deadline(set));
        } else {
            self.host.engine_mut().disarm();
            self.write(Input::Disarm, Output::Done(true));
            self.host.engine_mut().calm();
            self.write(Input::Calm, Output::Done(true));
        }
    }
}
