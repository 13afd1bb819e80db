//! The cause of a CPU's wake-up.
//!
//! The waker of a CPU states the cause before it wakes the CPU: a task's sleep that ends, a tick or clock and
//! its purpose, an interrupt and the task that it was sent for. If that is a thread of RCU's, or a tick that
//! callbacks need, the cause has a callback's function as well: that of the oldest callback that the woken
//! thread serves. For `rcuop/N` and ticks these are the CPU's; for `rcuog/N` those of its group; for
//! `rcu_preempt` all that are in no bypass: the grace period in progress, or requested, serves the oldest of
//! them.
//!
//! Timers of the wheel are RCU's: tasks of workloads sleep by timers of their own. So a clock that was set
//! for a timer which was stopped later is RCU's as well.

use quiescent_kernel::CpuId;

use super::Ticks;
use crate::idling::package::{Cause, Who};
use crate::kernel::cpu::Exec;
use crate::kernel::state::{Rcu, System};
use crate::kernel::task::Kind;
use crate::kernel::wheel::{For, Timer};

impl System {
    /// `cpu` is about to be woken for this.
    pub fn blames(&mut self, rcu: &Rcu, cpu: CpuId, who: Who) {
        let cause = self.cause(rcu, cpu, who);
        if let Some(idling) = &mut self.idling {
            idling.cpus[cpu as usize].because = cause;
        }
    }

    /// The next interrupt is sent for this task.
    pub fn sends_for(&mut self, task: usize) {
        if let Some(idling) = &mut self.idling {
            idling.sent_for = Some(task);
        }
    }

    /// An interrupt is about to be sent, for the task that was named, if any. Returns that task.
    pub fn sent_for(&mut self) -> Option<usize> {
        self.idling.as_mut().and_then(|it| it.sent_for.take())
    }

    /// It is on its way to `cpu`.
    pub fn interrupt_sent(&mut self, rcu: &Rcu, cpu: CpuId, task: Option<usize>) {
        let cause = self.cause(rcu, cpu, task.map_or(Who::Interrupt, Who::Task));
        if let Some(idling) = &mut self.idling {
            idling.cpus[cpu as usize].interrupts.extend(cause);
        }
    }

    /// It has arrived.
    pub fn interrupt_arrives(&mut self, cpu: CpuId) {
        if let Some(idling) = &mut self.idling {
            let it = &mut idling.cpus[cpu as usize];
            it.because = it.interrupts.pop_front();
        }
    }

    /// These CPUs are about to take a tick; for some of them a clock has expired.
    pub fn blames_jiffy(
        &mut self,
        rcu: &Rcu,
        due: impl Iterator<Item = CpuId>,
        rung: &[(CpuId, For)],
    ) {
        if self.idling.is_none() {
            return;
        }
        for cpu in due {
            if self.cores[cpu as usize].exec == Exec::Halted {
                let who = self.who_ticks(rcu, cpu, rung);
                self.blames(rcu, cpu, who);
            }
        }
    }

    fn who_ticks(&self, rcu: &Rcu, cpu: CpuId, rung: &[(CpuId, For)]) -> Who {
        let idling = self.idling.as_ref().expect("it is there");
        let ticks = self.wheel.ticks(cpu);
        if ticks && idling.cpus[cpu as usize].ticks == Ticks::Callbacks {
            return Who::TickForCallbacks;
        }
        let all = rung.contains(&(cpu, For::All));
        match self.wheel.first_due(cpu, self.jiffies(), all) {
            Some(Timer::Wake(task)) => Who::Task(task),
            Some(Timer::Group(group)) => {
                let thread = rcu.rcuogs[group as usize];
                thread.map_or(Who::Clock, Who::Task)
            }
            None if ticks => Who::Tick,
            None if rung.contains(&(cpu, For::Itself)) => Who::Look,
            None => Who::Clock,
        }
    }

    /// The cause, with the callback's function where it is about callbacks; none if there are no idle states.
    fn cause(&self, rcu: &Rcu, cpu: CpuId, who: Who) -> Option<Cause> {
        self.idling.as_ref()?;
        let func = match who {
            Who::Task(task) => match self.tasks[task].kind {
                Kind::GpThread => {
                    let all = 0..self.options.cpus;
                    self.oldest(all.filter(|&it| self.shows(rcu, it)))
                }
                Kind::Rcuog(group) => {
                    let group = rcu.groups[group as usize].as_ref();
                    let members = group.map_or(&[][..], |it| it.members());
                    self.oldest(members.iter().copied())
                }
                Kind::Rcuop(whose) => self.oldest([whose].into_iter()),
                Kind::Ksoftirqd => self.oldest([cpu].into_iter()),
                _ => None,
            },
            Who::TickForCallbacks | Who::Look => self.oldest([cpu].into_iter()),
            _ => None,
        };
        Some(Cause { who, func })
    }

    /// The function of the oldest callback of these CPUs.
    fn oldest(&self, cpus: impl Iterator<Item = CpuId>) -> Option<usize> {
        let first = |cpu: CpuId| self.cores[cpu as usize].fifo.front();
        let oldest = cpus.filter_map(first).min_by_key(|it| it.number);
        oldest.map(|it| it.func)
    }

    /// Has this CPU a callback that grace periods see?
    fn shows(&self, rcu: &Rcu, cpu: CpuId) -> bool {
        let member = rcu.cpus[cpu as usize].member();
        let hidden = member.bypass().max(member.lazy());
        self.cores[cpu as usize].fifo.len() as u64 > hidden
    }
}
