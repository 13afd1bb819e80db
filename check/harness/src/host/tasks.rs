//! Tasks that were preempted in a section.
//!
//! A section belongs to the CPU on which it was opened until its task is preempted there. Then it belongs to
//! the task: the task may continue, and end the section, on any CPU, and may be preempted again.

use super::TestHost;
use quiescent_kernel::blocked::{Disabled, TaskId, Unlocked};
use quiescent_kernel::host::CpuId;

/// A task that was preempted in a section that is still open; otherwise all fields are empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Task {
    /// There is such a task with this number.
    pub used: bool,
    /// The number of its open sections, while it is switched out.
    pub depth: u32,
    /// The CPU on which it runs.
    pub on: Option<CpuId>,
}

/// All such tasks.
#[derive(Clone, Debug, Default)]
pub(super) struct Tasks(Vec<Task>);

impl Tasks {
    pub(super) fn on(&self, cpu: CpuId) -> Option<TaskId> {
        let at = self.0.iter().position(|task| task.on == Some(cpu))?;
        Some(at as TaskId)
    }
}

impl TestHost {
    /// Preempts the task that runs on `cpu` in its section, and the CPU notes its quiescent state. Returns
    /// the task's number: a new one, or the one that the task got when it was first preempted in this
    /// section.
    ///
    /// # Panics
    /// If the CPU is in no section.
    pub fn preempt(&mut self, cpu: CpuId) -> TaskId {
        let depth = self.machine.cpus[cpu as usize].switch_out();
        assert!(
            depth > 0,
            "CPU {cpu} is in no section: no reader can be preempted"
        );
        let running = self.tasks.on(cpu);
        let task = running.unwrap_or_else(|| self.new_task());
        self.tasks.0[task as usize] = Task {
            used: true,
            depth,
            on: None,
        };
        let preempted = running.is_none().then_some(task);
        let global = &mut self.world.global;
        let effects = global.context_switch(cpu, preempted, &self.machine);
        self.carry_out(effects);
        self.exp.hints.retain(|&hinted| hinted != cpu);
        self.note(cpu);
        self.idle(cpu);
        task
    }

    /// `task` continues on `cpu`, in its section.
    ///
    /// # Panics
    /// If the task runs on a CPU, or this CPU is in a section.
    pub fn resume(&mut self, task: TaskId, cpu: CpuId) {
        let entry = &mut self.tasks.0[task as usize];
        assert!(
            entry.used && entry.on.is_none(),
            "task {task} is not switched out in a section"
        );
        entry.on = Some(cpu);
        let depth = std::mem::take(&mut entry.depth);
        self.machine.cpus[cpu as usize].switch_in(depth);
    }

    /// The outermost section on `cpu` was closed: takes the slow path, if its task was preempted in it or has
    /// a hint.
    pub(super) fn section_ended(&mut self, cpu: CpuId) {
        let task = self.tasks.on(cpu);
        if task.is_some() || self.exp.hints.contains(&cpu) {
            self.unlock_slow_path(cpu, task);
        }
    }

    /// Calls [`Global::read_unlock`](crate::Global::read_unlock), now or when nothing is disabled any more.
    pub(super) fn unlock_slow_path(&mut self, cpu: CpuId, task: Option<TaskId>) {
        let disabled = self.exp.disabled_on(cpu);
        let global = &mut self.world.global;
        match global.read_unlock(cpu, task, disabled, &self.machine) {
            Unlocked::Done(effects) => {
                self.exp.hints.retain(|&hinted| hinted != cpu);
                if let Some(task) = task {
                    self.tasks.0[task as usize] = Task::default();
                }
                self.carry_out(effects);
            }
            Unlocked::Later(how) => self.exp.later.push((cpu, how)),
        }
    }

    /// A free number; the engine's table grows with the numbers. The engine has its tree by now, as a kernel
    /// has from boot on.
    fn new_task(&mut self) -> TaskId {
        if self.world.global.tree().is_none() {
            assert!(self.grow(self.machine.cpus.len() as u32), "it was refused");
        }
        if let Some(free) = self.tasks.0.iter().position(|task| !task.used) {
            return free as TaskId;
        }
        self.tasks.0.push(Task::default());
        let tasks = self.tasks.0.len() as u32;
        let table = quiescent_kernel::Tasks::new(tasks).expect("memory");
        let taken = self.world.global.grow_tasks(table);
        assert!(taken.is_ok(), "a larger table was refused");
        tasks - 1
    }

    /// Lets an idle CPU enter the idle loop, unless its tick or something disabled keeps it awake.
    pub(super) fn idle(&mut self, cpu: CpuId) {
        let disabled = self.exp.disabled_on(cpu) != Disabled::Nothing;
        let awake = self.ticking[cpu as usize] || self.busy[cpu as usize];
        if !disabled && !awake {
            self.machine.cpus[cpu as usize].sleep();
        }
    }
}
