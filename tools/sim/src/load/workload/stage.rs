//! A workload's requirements on a machine, of either kind.

use quiescent_kernel::CpuId;
use std::sync::Arc;

use super::function::Function;
use crate::base::chance::Chance;
use crate::input::op::Work;
use crate::kernel::machine::Machine;
use crate::threads::Threads;

/// How a task begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Begin {
    /// On which CPU; threads are on none.
    pub cpu: CpuId,
    /// When, in nanoseconds.
    pub start: u64,
    /// No run waits for its end.
    pub endless: bool,
    /// Of threads: it has read before.
    pub registered: bool,
}

/// A machine that tasks can be put on.
pub(super) trait Stage {
    /// The number of a callback's function.
    fn function(&mut self, function: &Function) -> usize;
    /// A task.
    fn enter(&mut self, name: &str, begin: Begin, work: Box<dyn Work>);
    /// The task that was put there last runs on any of these CPUs, from each wake-up on.
    fn roams(&mut self, cpus: Arc<[CpuId]>, chance: Chance);
    /// Lets time pass.
    fn pass(&mut self, until: u64);
    /// Lets time pass until all tasks are over; false if that does not happen in time.
    fn pass_tasks(&mut self, until: u64) -> bool;
}

impl Stage for Machine {
    fn function(&mut self, function: &Function) -> usize {
        self.func_of(&function.name, function.bytes)
    }

    fn enter(&mut self, name: &str, begin: Begin, work: Box<dyn Work>) {
        match begin.endless {
            true => self.spawn_endless(name, begin.cpu, begin.start, work),
            false => self.spawn(name, begin.cpu, begin.start, work),
        }
    }

    fn roams(&mut self, cpus: Arc<[CpuId]>, chance: Chance) {
        self.roam(cpus, chance);
    }

    fn pass(&mut self, until: u64) {
        self.run(until);
    }

    fn pass_tasks(&mut self, until: u64) -> bool {
        self.run_tasks(until)
    }
}

impl Stage for Threads {
    fn function(&mut self, function: &Function) -> usize {
        self.func(&function.name, function.bytes, function.verb)
    }

    fn enter(&mut self, name: &str, begin: Begin, work: Box<dyn Work>) {
        match begin.endless {
            true => self.spawn_endless(name, begin.start, begin.registered, work),
            false => self.spawn(name, begin.start, begin.registered, work),
        }
    }

    fn roams(&mut self, _: Arc<[CpuId]>, _: Chance) {}

    fn pass(&mut self, until: u64) {
        self.run(until);
    }

    fn pass_tasks(&mut self, until: u64) -> bool {
        self.run_tasks(until)
    }
}
