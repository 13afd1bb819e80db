//! The part of the test host that answers the engine's questions.

use alloc::vec::Vec;
use core::cell::RefCell;

use super::{KernelCpu, Reader};
use crate::event::Event;
use crate::geometry::{Geometry, GeometryParams};
use crate::host::{CpuId, Host, LeafId, Now, Seen};

/// A CPU of either flavour.
#[derive(Clone, Debug)]
pub(super) enum Cpu {
    Thread(Reader),
    Kernel(KernelCpu),
}

/// CPUs, time, and what was traced.
#[derive(Clone, Debug)]
pub(super) struct Machine {
    pub cpus: Vec<Cpu>,
    pub present: Vec<bool>,
    /// Callbacks that each CPU owes, as another one reads it without a lock.
    pub owed: Vec<u64>,
    pub nohz_full: Vec<bool>,
    /// Shape of the engine's tree, once there is one: leaves are numbered by it.
    pub geometry: Geometry,
    pub now: Now,
    pub events: RefCell<Vec<Event>>,
}

impl Machine {
    /// # Panics
    /// If there can be no tree of that shape.
    pub fn new(cpus: Vec<Cpu>, params: GeometryParams) -> Machine {
        let present = alloc::vec![true; cpus.len()];
        let owed = alloc::vec![0; cpus.len()];
        let nohz_full = alloc::vec![false; cpus.len()];
        let geometry = Self::shape(cpus.len(), params);
        let events = RefCell::new(Vec::new());
        Machine {
            cpus,
            present,
            owed,
            nohz_full,
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
        match &self.cpus[cpu as usize] {
            Cpu::Thread(reader) => reader.seen(),
            Cpu::Kernel(cpu) => cpu.seen(),
        }
    }

    fn present(&self, leaf: LeafId) -> u64 {
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
