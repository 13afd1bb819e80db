//! The test host's answers to the engine's queries.

use std::cell::{Cell, RefCell};

use super::{KernelCpu, Reader};
use quiescent_engine::event::Event;
use quiescent_engine::geometry::{Geometry, GeometryParams};
use quiescent_engine::host::{CpuId, Host, LeafId, Now, Seen};

/// A CPU of either flavour.
#[derive(Clone, Debug)]
pub(super) enum Cpu {
    Thread(Reader),
    Kernel(KernelCpu),
}

/// CPUs, time, and the trace.
#[derive(Clone, Debug)]
pub(super) struct Machine {
    pub cpus: Vec<Cpu>,
    pub present: Vec<bool>,
    /// Callbacks that each CPU owes, as other CPUs read it without a lock.
    pub owed: Vec<u64>,
    pub nohz_full: Vec<bool>,
    /// Leaves that may be occupied, in groups of 64; initially all. The engine clears those that it finds
    /// empty.
    pub occupied: Vec<u64>,
    /// Counts queries of the presence of a leaf, and of readers' words.
    pub looks: Cell<(u64, u64)>,
    /// The shape of the engine's tree, once there is one; it numbers the leaves.
    pub geometry: Geometry,
    pub now: Now,
    pub events: RefCell<Vec<Event>>,
}

impl Machine {
    /// # Panics
    /// If no tree can have that shape.
    pub fn new(cpus: Vec<Cpu>, params: GeometryParams) -> Machine {
        let present = vec![true; cpus.len()];
        let owed = vec![0; cpus.len()];
        let nohz_full = vec![false; cpus.len()];
        let geometry = Self::shape(cpus.len(), params);
        let events = RefCell::new(Vec::new());
        Machine {
            cpus,
            present,
            owed,
            nohz_full,
            occupied: Vec::new(),
            looks: Cell::new((0, 0)),
            geometry,
            now: Now::default(),
            events,
        }
    }

    pub fn shape(cpus: usize, params: GeometryParams) -> Geometry {
        match Geometry::new(cpus as u32, params) {
            Ok(geometry) => geometry,
            Err(error) => panic!("a test host of {cpus} CPUs: {error}"),
        }
    }

    /// The leaf where a request of `cpu` enters the tree.
    pub fn leaf_of(&self, cpu: CpuId) -> LeafId {
        if cpu < self.geometry.nr_cpus() {
            self.geometry.leaf_of(cpu).0
        } else {
            0
        }
    }

    /// A CPU arrives at the leaf of `cpu`. Leaves of CPUs for which there is no tree yet count as occupied.
    pub fn occupy(&mut self, cpu: CpuId) {
        let leaf = self.leaf_of(cpu);
        if let Some(group) = self.occupied.get_mut(leaf / 64) {
            *group |= 1 << (leaf % 64);
        }
    }

    /// The engine has found a leaf to be empty.
    pub fn vacate(&mut self, leaf: LeafId) {
        let groups = self.occupied.len().max(leaf / 64 + 1);
        self.occupied.resize(groups, u64::MAX);
        self.occupied[leaf / 64] &= !(1 << (leaf % 64));
    }

    pub fn depth(&self, cpu: CpuId) -> u32 {
        match &self.cpus[cpu as usize] {
            Cpu::Thread(reader) => reader.depth(),
            Cpu::Kernel(cpu) => cpu.depth(),
        }
    }
}

impl Host for Machine {
    fn cpus(&self) -> u32 {
        self.cpus.len() as u32
    }

    fn observe(&self, cpu: CpuId) -> Seen {
        let (leaves, words) = self.looks.get();
        self.looks.set((leaves, words + 1));
        match &self.cpus[cpu as usize] {
            Cpu::Thread(reader) => reader.seen(),
            Cpu::Kernel(cpu) => cpu.seen(),
        }
    }

    fn present(&self, leaf: LeafId) -> u64 {
        let (leaves, words) = self.looks.get();
        self.looks.set((leaves + 1, words));
        let span = self.geometry.node(self.geometry.first_leaf() + leaf);
        (span.lo..=span.hi)
            .filter(|&cpu| self.present[cpu as usize])
            .fold(0, |mask, cpu| mask | 1 << (cpu - span.lo))
    }

    fn occupied(&self, group: usize) -> u64 {
        self.occupied.get(group).copied().unwrap_or(u64::MAX)
    }

    fn own_quiescent(&self, cpu: CpuId) -> bool {
        self.depth(cpu) == 0
    }

    fn nohz_full(&self, cpu: CpuId) -> bool {
        self.nohz_full[cpu as usize]
    }

    fn owed_callbacks(&self, cpu: CpuId) -> u64 {
        self.owed[cpu as usize]
    }

    fn trace(&self, event: &Event) {
        self.events.borrow_mut().push(*event);
    }
}
