//! The thread host's calls, in a random order.

use quiescent_kernel::credit::Cause;

use super::*;

impl Rig {
    pub(super) fn thread(&mut self) {
        let at = self.random.below(CPUS as u32) as usize;
        let lane = Lane::ALL[self.random.below(LANES as u32) as usize];
        match self.random.below(10) {
            0 | 1 => {
                let (queued, now) = (self.queued(at), self.now());
                let urgency = [Urgency::Lazy, Urgency::Prompt, Urgency::Hurry];
                let urgency = urgency[self.random.below(3) as usize];
                let input = CpuInput::Refill {
                    queued,
                    urgency,
                    now,
                };
                let _ = self.on(
                    at,
                    input,
                    |cpu, global, _, host| cpu.refill(global, &queued, urgency, now, host),
                    |refill| Output::Refill(*refill),
                );
            }
            2 => {
                let (queued, now) = (self.queued(at), self.now());
                let cause = Cause::ALL[self.random.below(8) as usize];
                let input = CpuInput::Taken { queued, cause, now };
                self.on(
                    at,
                    input,
                    |cpu, global, _, host| cpu.taken(global, &queued, cause, now, host),
                    |waits| Output::Done(*waits),
                );
            }
            3 => self.on(
                at,
                CpuInput::Advance,
                |cpu, global, _, _| cpu.advance(global),
                |()| Output::Done(true),
            ),
            4 | 5 => {
                let max = self.below(3);
                let out = self.on(
                    at,
                    CpuInput::Extract { lane, max },
                    |cpu, _, _, _| cpu.extract(lane, max),
                    |out| Output::Range(out.start, out.end),
                );
                self.out[at][lane as usize].push((out.start, out.end));
            }
            6 | 7 => {
                // Entries that were extracted first are sometimes returned last.
                let one_of = self.below(2) as usize;
                let out = &mut self.out[at][lane as usize];
                if out.is_empty() {
                    return;
                }
                let (start, end) = out.swap_remove(one_of.min(out.len() - 1));
                let share_done = self.on(
                    at,
                    CpuInput::Ran { lane, start, end },
                    |cpu, _, _, _| cpu.ran(lane, start..end),
                    |done| Output::Done(*done),
                );
                if share_done {
                    self.share_done();
                }
            }
            8 => self.budget(at),
            _ => self.timer(at),
        }
    }

    /// Queues some more entries; of its own lanes the owner has freed some.
    pub(super) fn queued(&mut self, at: usize) -> [Queued; LANES] {
        Lane::ALL.map(|lane| {
            let list = self.cpus[at].list(lane);
            let (end, head, ready) = (list.end(), list.head(), list.ready());
            let (new, freed) = (self.below(4), self.below(3));
            let frees =
                matches!(lane, Lane::Plain | Lane::Own) && self.out[at][lane as usize].is_empty();
            Queued {
                end: end + new,
                bytes: new * 16,
                freed_to: frees.then(|| head + ready.min(freed)),
                credit: self.random.below(4) == 0,
                offload: self.random.below(4) == 0,
                reach: new * 512,
                running: 0,
            }
        })
    }

    /// Changes the options.
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

    /// Low memory is reported, or not; the worker checks.
    fn pressure(&mut self, now: Now) -> bool {
        let global = self.host.engine_mut();
        let low = global.memory_low(now);
        let take = global.take_pressure(now);
        self.write(Input::MemoryLow { now }, Output::Low(low));
        self.write(Input::TakePressure { now }, Output::Done(take));
        take
    }

    fn timer(&mut self, at: usize) {
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
