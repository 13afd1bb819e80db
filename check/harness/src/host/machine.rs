//! The test host's answers to the engine's queries.

use std::cell::{Cell, RefCell};

use super::KernelCpu;
use quiescent_kernel::event::Event;
use quiescent_kernel::geometry::{Geometry, GeometryParams};
use quiescent_kernel::host::{CpuId, Host, LeafId, Now, Seen};

/// CPUs, time, and the trace.
#[derive(Clone, Debug)]
pub struct Machine {
    pub cpus: Vec<KernelCpu>,
    pub present: Vec<bool>,
    /// Callbacks that each CPU owes, as other CPUs read it without a lock.
    pub owed: Vec<u64>,
    pub nohz_full: Vec<bool>,
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
    pub fn new(cpus: Vec<KernelCpu>, params: GeometryParams) -> Machine {
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

    pub fn depth(&self, cpu: CpuId) -> u32 {
        self.cpus[cpu as usize].depth()
    }
}

impl Host for Machine {
    fn cpus(&self) -> u32 {
        self.cpus.len() as u32
    }

    fn observe(&self, cpu: CpuId) -> Seen {
        let (leaves, words) = self.looks.get();
        self.looks.set((leaves, words + 1));
        self.cpus[cpu as usize].seen()
    }

    fn present(&self, leaf: LeafId) -> u64 {
        let (leaves, words) = self.looks.get();
        self.looks.set((leaves + 1, words));
        let span = self.geometry.node(self.geometry.first_leaf() + leaf);
        (span.lo..=span.hi)
            .filter(|&cpu| self.present[cpu as usize])
            .fold(0, |mask, cpu| mask | 1 << (cpu - span.lo))
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
