//! All state of a domain's engine as one value.
//!
//! A host keeps the parts of a [`World`] separately, each behind its own lock. Here they are a value, which
//! can be compared, and borrowed in the parts that a call takes.

use std::collections::BTreeMap;

use quiescent_kernel::Global;
use quiescent_kernel::barrier::Barrier;
use quiescent_kernel::callbacks::Adopted;
use quiescent_kernel::cpu::Cpu;
use quiescent_kernel::host::{CpuId, Host};
use quiescent_kernel::offload::{
    AfterBatch, Entrained, Flushed, Group, GroupId, Queued, Refused, Rested, TakenOver, Timer,
    Todo, Toggled, Visited, group_of, stride,
};

/// The engine's state of a domain: the shared state, every CPU's, and the barrier's.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    /// Grace periods.
    pub global: Global,
    /// Callbacks. A CPU that has had none is not in the map; the first call for it adds it.
    pub cpus: BTreeMap<CpuId, Cpu>,
    /// The barrier.
    pub barrier: Barrier,
    /// Offload groups.
    pub groups: BTreeMap<GroupId, Group>,
}

/// What calls of an offloaded CPU take.
#[derive(Debug)]
pub struct Member<'a> {
    /// The CPU.
    pub cpu: &'a mut Cpu,
    /// Its group.
    pub group: &'a mut Group,
    /// Grace periods.
    pub global: &'a mut Global,
    /// The barrier.
    pub barrier: &'a mut Barrier,
}

impl World {
    /// A world in which no CPU has had a callback and no barrier has been made.
    pub fn new(global: Global) -> World {
        World {
            global,
            cpus: BTreeMap::new(),
            barrier: Barrier::new(),
            groups: BTreeMap::new(),
        }
    }

    /// A CPU, and what its calls take.
    pub fn cpu(&mut self, id: CpuId) -> (&mut Cpu, &mut Global) {
        let cpu = self.cpus.entry(id).or_insert_with(|| Cpu::new(id));
        (cpu, &mut self.global)
    }

    /// CPU `id` takes over the callbacks of `gone`, which is another CPU.
    pub fn adopt(&mut self, id: CpuId, gone: CpuId, host: &impl Host) -> Adopted {
        let mut source = self.cpus.remove(&gone).unwrap_or_else(|| Cpu::new(gone));
        let cpu = self.cpus.entry(id).or_insert_with(|| Cpu::new(id));
        let adopted = cpu.adopt(&mut source, &mut self.barrier, &mut self.global, host);
        self.cpus.insert(gone, source);
        adopted
    }

    /// Offloads `cpu`, one of so many, from boot on.
    pub fn choose(&mut self, cpu: CpuId, cpus: u32) {
        let stride = stride(cpus, self.global.config().offload.stride);
        let id = group_of(cpu, stride);
        let groups = self.groups.entry(id);
        let group = groups.or_insert_with(|| Group::new(id, stride));
        let chosen = self.cpus.entry(cpu).or_insert_with(|| Cpu::new(cpu));
        chosen.choose(group);
    }

    /// A CPU, and what its calls about offloading take.
    ///
    /// # Panics
    /// If it was never chosen.
    pub fn member(&mut self, id: CpuId) -> Member<'_> {
        let cpu = self.cpus.get_mut(&id).expect("it was chosen at boot");
        let group = cpu.member().group().expect("it was chosen at boot");
        Member {
            cpu,
            group: self.groups.get_mut(&group).expect("a member was chosen"),
            global: &mut self.global,
            barrier: &mut self.barrier,
        }
    }

    /// CPU `id`, which was chosen, takes over the callbacks of `gone`, which is another CPU.
    pub fn take_over(
        &mut self,
        id: CpuId,
        gone: CpuId,
        tick: u64,
        host: &impl Host,
    ) -> Option<TakenOver> {
        let mut source = self.cpus.remove(&gone).unwrap_or_else(|| Cpu::new(gone));
        let it = self.member(id);
        let taken = it
            .cpu
            .take_over(&mut source, tick, it.barrier, it.group, it.global, host);
        self.cpus.insert(gone, source);
        taken
    }

    /// A group, and what its calls take.
    ///
    /// # Panics
    /// If no CPU of it was chosen.
    pub fn group(&mut self, id: GroupId) -> (&mut Group, &Global) {
        let group = self.groups.get_mut(&id).expect("a member was chosen");
        (group, &self.global)
    }
}

/// Checks the invariants of the tree, of the blocked readers, and of the expedited grace periods.
///
/// # Panics
/// If one is violated.
pub fn check(engine: &Global) {
    if let Some(tree) = engine.tree() {
        tree.check();
    }
    engine.check_readers();
    engine.check_expedited();
}

/// The result of a call about offloading.
pub trait Asks {
    /// What it asks the host to do.
    fn todo(&self) -> Todo;
}

macro_rules! asks {
    ($($result:ty)*) => {
        $(impl Asks for $result {
            fn todo(&self) -> Todo {
                self.todo
            }
        })*
    };
}

asks!(Queued Visited AfterBatch Toggled Entrained Flushed TakenOver);

impl Asks for Todo {
    fn todo(&self) -> Todo {
        *self
    }
}

impl Asks for Timer {
    fn todo(&self) -> Todo {
        Todo {
            timer: *self,
            ..Todo::default()
        }
    }
}

impl Asks for Rested {
    fn todo(&self) -> Todo {
        self.timer.todo()
    }
}

impl<T: Asks> Asks for Option<T> {
    fn todo(&self) -> Todo {
        self.as_ref().map_or_else(Todo::default, Asks::todo)
    }
}

impl<T: Asks> Asks for Result<T, Refused> {
    fn todo(&self) -> Todo {
        self.as_ref().map_or_else(|_| Todo::default(), Asks::todo)
    }
}
