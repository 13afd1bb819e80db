//! The engine's state for one queue of callbacks.
//!
//! The host keeps a [`Cpu`] under a lock of its own that is taken before [`Global`](crate::Global)'s: the
//! owner, a worker, a barrier, an exit or a fork must all be able to change the cut positions of a queue that
//! is quiet, or whose owner is gone. A *scan*'s stamps are not here, because a scan writes about other CPUs.
//!
//! # Lanes
//! A queue has a list for each kind of callback, because one FIFO cannot serve all: an entry that may not run
//! here and now would block later entries that may. A lane is defined by the threads that consume it. There
//! is no order between lanes.

use crate::barrier::{Barrier, CpuMark, Visit};
use crate::budget::Share;
use crate::cblist::CbList;
use crate::credit::Deferring;
use crate::host::CpuId;
use crate::pool::Turn;

/// The number of lists of a CPU.
pub const LANES: usize = 4;

/// The lists of a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lane {
    /// Memory, freed by its owner without running code of the program.
    Plain,
    /// Code that a worker runs: closures.
    Code,
    /// Code that its owner runs, outside of sections and callbacks: destructors.
    Own,
    /// Callbacks whose link is inside the object that they free.
    Head,
}

impl Lane {
    /// All lanes, in the order of a CPU's lists.
    pub const ALL: [Lane; LANES] = [Lane::Plain, Lane::Code, Lane::Own, Lane::Head];
    /// Those whose items run code of the program, in the order in which they are run.
    pub const CODE: [Lane; 3] = [Lane::Own, Lane::Code, Lane::Head];
}

/// One CPU's callbacks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cpu {
    pub(crate) id: CpuId,
    pub(crate) lists: [CbList; LANES],
    pub(crate) barrier: CpuMark,
    pub(crate) credit: Deferring,
    pub(crate) share: Share,
    pub(crate) turn: Turn,
}

impl Cpu {
    /// A CPU with nothing queued.
    pub const fn new(id: CpuId) -> Cpu {
        Cpu {
            id,
            lists: [const { CbList::new() }; LANES],
            barrier: CpuMark::new(),
            credit: Deferring::new(),
            share: Share::new(),
            turn: Turn::new(),
        }
    }

    /// Its number.
    pub fn id(&self) -> CpuId {
        self.id
    }

    /// All lists, in the order of [`Lane::ALL`].
    pub fn lists(&self) -> &[CbList; LANES] {
        &self.lists
    }

    /// The number owed, in all lanes, and hidden.
    pub fn len(&self) -> u64 {
        self.lists.iter().map(CbList::len).sum()
    }

    /// A barrier visits this CPU, whose queue was just [`taken`](Cpu::taken).
    pub fn visit_barrier(&mut self, barrier: &mut Barrier) -> Visit {
        barrier.visit_positions(&mut self.barrier, &mut self.lists)
    }

    /// Some callbacks have been invoked, or freed by their owner. True, once, if that completes this
    /// CPU's share of the barrier ([`CpuMark::ran`]).
    pub fn barrier_share_done(&mut self) -> bool {
        self.barrier.ran(&mut self.lists)
    }

    /// Its state for the barrier.
    pub fn barrier(&self) -> &CpuMark {
        &self.barrier
    }
}
