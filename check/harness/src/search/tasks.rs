//! Preempted readers: a section that leaves its CPU and continues on another CPU.

use quiescent_kernel::blocked::{Disabled, Unlocked};
use quiescent_kernel::{Host, Phase};

use crate::host::Task;
use crate::search::actions::Action;
use crate::search::bounds::Broken;
use crate::search::marks::{Mark, Pad};
use crate::search::model::{Eyes, State};
use crate::search::oracle::of_task;

impl State {
    /// The possible actions of tasks on a CPU.
    pub fn task_actions(&self, i: usize, all: &mut Vec<Action>) {
        let cpu = &self.machine.cpus[i];
        if !cpu.present || cpu.leaving {
            return;
        }
        if cpu.depth() > 0 {
            let again = self.machine.task_on(i).is_some();
            let room = again || self.machine.tasks.iter().any(|task| !task.used);
            if self.budget.preempts > 0 && room {
                all.push(Action::Preempt(i as u8));
            }
            return;
        }
        for (task, entry) in self.machine.tasks.iter().enumerate() {
            if entry.used && entry.on.is_none() {
                all.push(Action::Resume(task as u8, i as u8));
            }
        }
    }

    /// Is this CPU the only one on which some preempted task can continue?
    pub fn is_needed(&self, i: usize) -> bool {
        let mut cpus = self.machine.cpus.iter().enumerate();
        let elsewhere = cpus.any(|(j, cpu)| j != i && cpu.present && !cpu.leaving);
        let waits = |task: &Task| task.used && task.on.is_none();
        !elsewhere && self.machine.tasks.iter().any(waits)
    }

    /// The open sections, in the oracle's form.
    pub fn open_sections(&self) -> u32 {
        let tasks = &self.machine.tasks;
        let preempted = tasks.iter().enumerate().filter(|(_, task)| task.used);
        let preempted = preempted.fold(0, |mask, (task, _)| mask | of_task(task));
        let cpus = self.machine.mask(|cpu| cpu.depth() > 0);
        let resumed = tasks.iter().filter_map(|task| task.on);
        let resumed = resumed.fold(0, |mask, cpu| mask | 1 << cpu);
        cpus & !resumed | preempted
    }

    pub fn preempt(&mut self, i: usize, pad: &Pad) {
        self.budget.preempts -= 1;
        let running = self.machine.task_on(i);
        let free = self.machine.tasks.iter().position(|task| !task.used);
        let task = running.or(free).expect("there is room for it");
        self.machine.tasks[task] = Task {
            used: true,
            depth: self.machine.cpus[i].word.switch_out(),
            on: None,
        };
        let in_flight = self.engine.phase() != Phase::Idle;
        let preempted = running.is_none().then_some(task as u32);
        let eyes = Eyes::new(&self.machine, self.engine.phase(), pad);
        let reported = preempted.filter(|_| self.broken != Broken::UnreportedReader);
        let effects = self.engine.context_switch(i as u32, reported, &eyes);
        self.woken |= effects.wake_gp;
        self.exp.woken |= effects.wake_exp;
        pad.set_if(Mark::ExpSwitch, self.exp.hints & 1 << i != 0);
        self.exp.hints &= !(1 << i);
        if preempted.is_some() {
            self.oracle.section_moved(1 << i, of_task(task));
            let blocks = self.engine.blocked_readers().any(|t| t as usize == task);
            pad.set(match (in_flight, blocks) {
                (false, _) => Mark::PreemptedIdle,
                (true, true) => Mark::PreemptedOlder,
                (true, false) => Mark::PreemptedNewer,
            });
        }
        self.machine.cpus[i].word.note(self.engine.published());
    }

    pub fn resume(&mut self, task: usize, i: usize) {
        let entry = &mut self.machine.tasks[task];
        entry.on = Some(i as u32);
        let depth = std::mem::take(&mut entry.depth);
        self.machine.cpus[i].word.switch_in(depth);
    }

    /// The outermost section on a CPU was closed: the slow path of its unlock, if its task was preempted in
    /// it or has a hint.
    pub fn section_ended(&mut self, i: usize, pad: &Pad) {
        let task = self.machine.task_on(i);
        self.oracle.section_closed(task.map_or(1 << i, of_task));
        let hinted = self.exp.hints & 1 << i != 0;
        if task.is_none() && !hinted {
            return;
        }
        self.exp.hints &= !(1 << i);
        let eyes = Eyes::new(&self.machine, self.engine.phase(), pad);
        let queued = task.map(|task| task as u32);
        let queued = queued.filter(|task| self.engine.tasks().leaf_of(*task).is_some());
        if let Some(task) = queued {
            let leaf = self.engine.tasks().leaf_of(task).expect("it is queued");
            let held = self.engine.blocked_readers().any(|t| t == task);
            pad.set_if(Mark::WaitBlkdTasks, held && eyes.present(leaf) == 0);
        }
        let holdouts = self.engine.exp_holdouts().count();
        let unlocked = self
            .engine
            .read_unlock(i as u32, queued, Disabled::Nothing, &eyes);
        let Unlocked::Done(effects) = unlocked else {
            unreachable!("nothing is disabled");
        };
        pad.set_if(Mark::ExpReaderLast, effects.wake_exp && holdouts == 0);
        if let Some(task) = task {
            self.machine.tasks[task] = Task::default();
        }
        self.woken |= effects.wake_gp;
        self.exp.woken |= effects.wake_exp;
    }
}
