//! The engine's state for one CPU's callbacks.
//!
//! The host keeps a [`Cpu`] under a lock of its own that is taken before [`Global`](crate::Global)'s: the
//! owner, a worker, a barrier, an exit or a fork must all be able to change the cut positions of a CPU that
//! is quiet or gone. A *scan*'s snapshot of a CPU is not here, because a scan writes about other CPUs.
//!
//! # Lanes
//! A thread host has a list for each kind of callback, because one FIFO cannot serve all: an entry that may
//! not run here and now would block later entries that may. A lane is defined by the threads that consume it.
//! There is no order between lanes. A kernel has one list; it is [`Lane::Code`].
//!
//! # Noticed numbers
//! `gp_seq` is the grace-period number that this CPU has noticed, `gp_seq_needed` the furthest requested one
//! that it knows. Both may lag behind. A CPU that lags by a quarter of the space is flagged `gpwrap`, and
//! ignores both numbers at its next core pass.

use crate::common::barrier::{Barrier, CpuMark, Visit};
use crate::common::cblist::CbList;
use crate::common::host::CpuId;
use crate::common::limits;
use crate::common::parts::kernel::{Idling, Member, Qs};
use crate::common::parts::threads::{Deferring, Share, Turn};
use crate::common::seq::Seq;

/// The number of lists of a CPU.
pub const LANES: usize = 4;

/// The lists of a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lane {
    /// Memory, freed by its owner without running code of the program.
    Plain,
    /// Code that a worker runs: closures; a kernel's only list.
    Code,
    /// Code that its owner runs, outside of sections and callbacks: destructors.
    Own,
    /// Callbacks whose link is inside the object that they free.
    Head,
}

impl Lane {
    /// All lanes, in the order of a CPU's lists.
    pub const ALL: [Lane; LANES] = [Lane::Plain, Lane::Code, Lane::Own, Lane::Head];
}

/// One CPU's callbacks, and the grace-period numbers that it has noticed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cpu {
    pub(crate) id: CpuId,
    pub(crate) lists: [CbList; LANES],
    /// The newest number this CPU has noticed at its leaf.
    pub(crate) gp_seq: Seq,
    /// The furthest requested grace period that it knows.
    pub(crate) gp_seq_needed: Seq,
    /// Both numbers are too old to be compared.
    pub(crate) gpwrap: bool,
    /// The quiescent state it owes.
    pub(crate) qs: Qs,
    /// Other threads stamp and invoke its callbacks.
    pub(crate) offloaded: bool,
    pub(crate) offload: Member,
    pub(crate) idle: Idling,
    pub(crate) batch: limits::BatchState,
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
            gp_seq: Seq::INITIAL,
            gp_seq_needed: Seq::INITIAL,
            gpwrap: false,
            qs: Qs::new(),
            offloaded: false,
            offload: Member::new(),
            idle: Idling::new(),
            batch: limits::BatchState::new(),
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
        self.lists.iter().map(CbList::len).sum::<u64>() + self.offload.bypass()
    }

    /// Selects whether other threads serve its callbacks, or the CPU itself. Only while it owes none and is
    /// offline, and for hosts without [groups](crate::offload::Group).
    pub fn set_offloaded(&mut self, offloaded: bool) {
        self.offloaded = offloaded;
    }

    /// Do other threads serve its callbacks?
    pub fn is_offloaded(&self) -> bool {
        self.offloaded
    }

    /// The barrier puts its callback into the list [`Lane::Code`] ([`Barrier::visit_entrain`]). On an
    /// offloaded CPU [`entrain_nocb`](Cpu::entrain_nocb) does that.
    pub fn entrain_barrier(&mut self, barrier: &mut Barrier) -> Visit {
        let list = &mut self.lists[Lane::Code as usize];
        barrier.visit_entrain(&mut self.barrier, list)
    }

    /// A barrier of the thread host visits this CPU, whose queue was just [`taken`](Cpu::taken).
    pub fn visit_barrier(&mut self, barrier: &mut Barrier) -> Visit {
        barrier.visit_positions(&mut self.barrier, &mut self.lists)
    }

    /// Some callbacks have been invoked, or freed by their owner. True, once, if that completes this
    /// CPU's share of the barrier ([`CpuMark::ran`]).
    pub fn barrier_share_done(&mut self) -> bool {
        self.barrier.ran(&mut self.lists)
    }

    /// The state of its batches and floods.
    pub fn batch(&self) -> &limits::BatchState {
        &self.batch
    }

    /// Its state for the barrier.
    pub fn barrier(&self) -> &CpuMark {
        &self.barrier
    }
}
