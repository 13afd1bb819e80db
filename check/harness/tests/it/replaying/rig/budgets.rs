//! A thread host's calls about the budget.

use quiescent_harness::replay::{CpuInput, Input, Output};

use super::Rig;

impl Rig {
    /// Requests credit, reports what was run, changes the budget, and acts as the worker.
    pub fn budget(&mut self, at: usize) {
        let done = |done: &bool| Output::Done(*done);
        match self.below(4) {
            0 => {
                let (queued, now, bytes) = (self.queued(at), self.now(), self.below(300));
                let input = CpuInput::Admit { queued, bytes, now };
                self.on(
                    at,
                    input,
                    |cpu, global, _, _| cpu.admit(global, &queued, bytes, now),
                    done,
                );
            }
            1 => {
                let input = CpuInput::Untold;
                if self.on(at, input, |cpu, _, _, _| cpu.unreported(), done) {
                    self.on(
                        at,
                        CpuInput::Tell,
                        |cpu, global, _, _| cpu.tell(global),
                        |()| Output::Done(true),
                    );
                }
            }
            2 => {
                let (bytes, count) = (100 + self.below(600), 5 + self.below(40));
                let kick = self.host.engine_mut().set_budget(bytes, count);
                self.write(Input::SetBudget { bytes, count }, Output::Done(kick));
            }
            _ => {
                let all = self.host.engine_mut().sweeps_all();
                self.write(Input::SweepsAll, Output::Done(all));
            }
        }
    }
}
