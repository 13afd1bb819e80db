//! Read-side sections of tasks, and context switches.
//!
//! The kernel modelled here can preempt readers. A section belongs to its task. While the task runs, its CPU
//! blocks the grace period: ticks and interrupts read the task's nesting depth. When the task is switched out
//! in a section, preempted or asleep, it is queued in the engine's tree before the CPU notes a quiescent
//! state; from then on the task itself blocks the grace period, on whichever CPU it runs, until its outermost
//! section ends ([`quiescent_kernel::blocked`]).
//!
//! A task that waits for a grace period inside a section waits for itself: a deadlock, as in a kernel.

use crate::kernel::state::{Act, Machine};
use quiescent_kernel::blocked::{Disabled, Unlocked};
use quiescent_kernel::{CpuId, TaskId, Tasks};

/// What opening a section costs, and closing it.
const COST: u64 = 20;

impl Machine {
    /// A task opens a section, or nests one.
    pub(crate) fn lock(&mut self, task: usize) -> Act {
        let it = &mut self.tasks[task].sections;
        it.depth += 1;
        if it.depth == 1 {
            it.number = self.oracle.opened();
        }
        Act::Busy(COST)
    }

    /// A task closes its innermost section.
    ///
    /// # Panics
    /// If none is open: the workload is wrong.
    pub(crate) fn unlock(&mut self, cpu: CpuId, task: usize) -> Act {
        let it = &mut self.tasks[task].sections;
        assert!(
            it.depth > 0,
            "task {:?} closes a section that it has not opened",
            self.tasks[task].name
        );
        it.depth -= 1;
        if it.depth == 0 {
            self.section_ends(cpu, task);
        }
        Act::Busy(COST)
    }

    /// The task ends: so do its sections.
    pub(crate) fn unlock_all(&mut self, cpu: CpuId, task: usize) {
        if std::mem::take(&mut self.tasks[task].sections.depth) > 0 {
            self.section_ends(cpu, task);
        }
    }

    fn section_ends(&mut self, cpu: CpuId, task: usize) {
        let ended = std::mem::take(&mut self.tasks[task].sections);
        self.oracle.closed(ended.number);
        let (global, cpus, _, view) = self.rcu.parts();
        if ended.asked {
            cpus[cpu as usize].note_qs(&view);
        }
        if !ended.queued && !ended.hint {
            return;
        }
        let queued = ended.queued.then_some(task as TaskId);
        match global.read_unlock(cpu, queued, Disabled::Nothing, &view) {
            Unlocked::Done(effects) => self.effects(cpu, &effects),
            Unlocked::Later(_) => unreachable!("nothing is disabled"),
        }
    }

    /// The nesting depth of the task that runs on `cpu`.
    pub(crate) fn depth(&self, cpu: CpuId) -> u32 {
        let current = self.cores[cpu as usize].current;
        current.map_or(0, |task| self.tasks[task].sections.depth)
    }

    /// Reports a context switch away from this task to RCU.
    pub(crate) fn note_switch(&mut self, cpu: CpuId, from: Option<usize>) {
        let preempted = from.filter(|&task| {
            let it = self.tasks[task].sections;
            it.depth > 0 && !it.queued
        });
        if let Some(task) = preempted {
            self.tasks[task].sections.queued = true;
            self.preempted += 1;
            self.make_room(task as TaskId);
        }
        let (global, cpus, _, view) = self.rcu.parts();
        let effects = global.context_switch(cpu, preempted.map(|task| task as TaskId), &view);
        let answer = cpus[cpu as usize].context_switch(global, &view);
        if answer.momentary_eqs {
            self.rcu.watch[cpu as usize].momentary_eqs();
        }
        self.effects(cpu, &effects);
    }

    /// The engine's table of tasks has room for this one.
    fn make_room(&mut self, task: TaskId) {
        let global = &mut self.rcu.global;
        if task >= global.tasks().len() {
            let larger = Tasks::new((task + 1).next_power_of_two()).expect("memory for a table");
            assert!(global.grow_tasks(larger).is_ok(), "it is larger");
        }
    }

    /// Waits, calls and callbacks that were over while a section was open that they had to outlive; barriers
    /// that were over before a callback. 0, unless the engine is wrong.
    pub fn too_early(&self) -> u64 {
        self.oracle.early() + self.srcu_oracle().0
    }

    /// Is no grace period in progress, none requested, and nothing in force that only load explains? Grace
    /// periods of SRCU count too.
    pub fn is_quiet(&self) -> bool {
        !self.rcu.global.busy() && !self.srcu_busy() && !self.latch_is_stuck()
    }

    /// Is the latch set that sends callers of `synchronize_rcu` another way, with no caller left?
    pub(crate) fn latch_is_stuck(&self) -> bool {
        self.waiters.is_empty() && !self.rcu.global.takes_waiters()
    }

    /// Callbacks that were queued and have not been invoked.
    pub fn owed(&self) -> u64 {
        self.oracle.owed() + self.srcu_oracle().1
    }
}
