//! What a workload needs of a machine, of whatever kind.

use quiescent_engine::CpuId;

use super::function::Function;
use crate::base::chance::Chance;
use crate::input::op::Work;
use crate::kernel::machine::Machine;
use crate::threads::Threads;

/// A machine that tasks can be put on.
pub(super) trait Stage {
    /// The number of a callback's function.
    fn function(&mut self, function: &Function) -> usize;
    /// A task that starts at `start`: on which CPU; and, of threads, whether it has read before.
    fn enter(&mut self, name: &str, which: (CpuId, bool), start: u64, work: Box<dyn Work>);
    /// The same, of one that nobody waits for.
    fn enter_endless(&mut self, name: &str, which: (CpuId, bool), start: u64, work: Box<dyn Work>);
    /// The task that was put there last runs on any of these CPUs, from each wake-up on. Threads are on no CPU.
    fn roams(&mut self, _cpus: Vec<CpuId>, _chance: Chance) {}
    /// Lets time pass.
    fn pass(&mut self, until: u64);
    /// Lets time pass until all tasks are over; false if it has not come to that.
    fn pass_tasks(&mut self, until: u64) -> bool;
}

impl Stage for Machine {
    fn function(&mut self, function: &Function) -> usize {
        self.func_of(&function.name, function.bytes)
    }

    fn enter(&mut self, name: &str, (cpu, _): (CpuId, bool), start: u64, work: Box<dyn Work>) {
        self.spawn(name, cpu, start, work);
    }

    fn enter_endless(
        &mut self,
        name: &str,
        (cpu, _): (CpuId, bool),
        start: u64,
        work: Box<dyn Work>,
    ) {
        self.spawn_endless(name, cpu, start, work);
    }

    fn roams(&mut self, cpus: Vec<CpuId>, chance: Chance) {
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

    fn enter(
        &mut self,
        name: &str,
        (_, registered): (CpuId, bool),
        start: u64,
        work: Box<dyn Work>,
    ) {
        self.spawn(name, start, registered, work);
    }

    fn enter_endless(
        &mut self,
        name: &str,
        (_, registered): (CpuId, bool),
        start: u64,
        work: Box<dyn Work>,
    ) {
        self.spawn_endless(name, start, registered, work);
    }

    fn pass(&mut self, until: u64) {
        self.run(until);
    }

    fn pass_tasks(&mut self, until: u64) -> bool {
        self.run_tasks(until)
    }
}
