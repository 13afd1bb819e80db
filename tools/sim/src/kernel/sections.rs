//! Read-side sections of tasks, and context switches.
//!
//! The kernel modelled here can preempt readers. A section belongs to its task. While the task runs, its CPU
//! blocks the grace period: ticks and interrupts read the task's nesting depth. When the task is switched out
//! in a section, preempted or asleep, it is queued in the engine's tree before the CPU notes a quiescent
//! state; from then on the task itself blocks the grace period, on whichever CPU it runs, until its outermost
//! section ends ([`quiescent_kernel::blocked`]).
//!
//! A task that waits for a grace period inside a section waits for itself: a deadlock, as in a kernel.

use crate::kernel::state::{Act, Rcu, System};
use quiescent_kernel::blocked::{Disabled, Unlocked};
use quiescent_kernel::{CpuId, TaskId, Tasks};

/// What opening a section costs, and closing it.
const COST: u64 = 20;

impl System {
    /// A task opens a section, or nests one.
    pub fn lock(&mut self, task: usize) -> Act {
        let it = &mut self.tasks[task].sections;
        it.depth += 1;
        if it.depth == 1 {
            it.number = self.oracle.opened();
        }
        Act::Busy(COST)
    }

    /// The nesting depth of the task that runs on `cpu`.
    pub fn depth(&self, cpu: CpuId) -> u32 {
        let current = self.cores[cpu as usize].current;
        current.map_or(0, |task| self.tasks[task].sections.depth)
    }
}

impl Rcu {
    /// A task closes its innermost section.
    ///
    /// # Panics
    /// If none is open: the workload is wrong.
    pub fn unlock(&mut self, sys: &mut System, cpu: CpuId, task: usize) -> Act {
        let it = &mut sys.tasks[task].sections;
        assert!(
            it.depth > 0,
            "task {:?} closes a section that it has not opened",
            sys.tasks[task].name
        );
        it.depth -= 1;
        if it.depth == 0 {
            self.section_ends(sys, cpu, task);
        }
        Act::Busy(COST)
    }

    /// The task ends: so do its sections.
    pub fn unlock_all(&mut self, sys: &mut System, cpu: CpuId, task: usize) {
        if std::mem::take(&mut sys.tasks[task].sections.depth) > 0 {
            self.section_ends(sys, cpu, task);
        }
    }

    fn section_ends(&mut self, sys: &mut System, cpu: CpuId, task: usize) {
        let ended = std::mem::take(&mut sys.tasks[task].sections);
        sys.oracle.closed(ended.number);
        let (global, cpus, _, view) = self.parts();
        if ended.asked {
            cpus[cpu as usize].note_qs(&view);
        }
        if !ended.queued && !ended.hint {
            return;
        }
        let queued = ended.queued.then_some(task as TaskId);
        match global.read_unlock(cpu, queued, Disabled::Nothing, &view) {
            Unlocked::Done(effects) => self.effects(sys, cpu, &effects),
            Unlocked::Later(_) => unreachable!("nothing is disabled"),
        }
    }

    /// Reports a context switch away from this task to RCU.
    pub fn note_switch(&mut self, sys: &mut System, cpu: CpuId, from: Option<usize>) {
        let preempted = from.filter(|&task| {
            let it = sys.tasks[task].sections;
            it.depth > 0 && !it.queued
        });
        if let Some(task) = preempted {
            sys.tasks[task].sections.queued = true;
            sys.tally.preempted += 1;
            self.make_room(task as TaskId);
        }
        let (global, cpus, _, view) = self.parts();
        let effects = global.context_switch(cpu, preempted.map(|task| task as TaskId), &view);
        let answer = cpus[cpu as usize].context_switch(global, &view);
        if answer.momentary_eqs {
            self.watch[cpu as usize].momentary_eqs();
        }
        self.effects(sys, cpu, &effects);
    }

    /// The engine's table of tasks has room for this one.
    fn make_room(&mut self, task: TaskId) {
        let global = &mut self.global;
        if task >= global.tasks().len() {
            let larger = Tasks::new((task + 1).next_power_of_two()).expect("memory for a table");
            assert!(global.grow_tasks(larger).is_ok(), "it is larger");
        }
    }

    /// Is the latch set that sends callers of `synchronize_rcu` another way, with no caller left?
    pub fn latch_is_stuck(&self) -> bool {
        self.waiters.is_empty() && !self.global.takes_waiters()
    }
}
