//! The engine's state for one CPU's callbacks.
//!
//! The host keeps a [`Cpu`] under a lock of its own that is taken before [`Global`](crate::Global)'s: the
//! CPU itself, an offload thread, a barrier, or the CPU that adopts the callbacks of one that is gone change
//! it. A *scan*'s snapshot of a CPU is not here, because a scan writes about other CPUs.
//!
//! # Noticed numbers
//! `gp_seq` is the grace-period number that this CPU has noticed, `gp_seq_needed` the furthest requested one
//! that it knows. Both may lag behind. A CPU that lags by a quarter of the space is flagged `gpwrap`, and
//! ignores both numbers at its next core pass.

use crate::periods::host::CpuId;
use crate::periods::limits;
use crate::periods::parts::{Idling, Member, Qs};
use quiescent_engine::barrier::{Barrier, CpuMark, Visit};
use quiescent_engine::cblist::CbList;
use quiescent_engine::seq::Seq;

/// One CPU's callbacks, and the grace-period numbers that it has noticed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cpu {
    pub(crate) id: CpuId,
    pub(crate) list: CbList,
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
}

impl Cpu {
    /// A CPU with nothing queued.
    pub const fn new(id: CpuId) -> Cpu {
        Cpu {
            id,
            list: CbList::new(),
            gp_seq: Seq::INITIAL,
            gp_seq_needed: Seq::INITIAL,
            gpwrap: false,
            qs: Qs::new(),
            offloaded: false,
            offload: Member::new(),
            idle: Idling::new(),
            batch: limits::BatchState::new(),
            barrier: CpuMark::new(),
        }
    }

    /// Its number.
    pub fn id(&self) -> CpuId {
        self.id
    }

    /// Its callbacks, but for those in the [bypass](crate::offload).
    pub fn list(&self) -> &CbList {
        &self.list
    }

    /// The number owed, in the list and in the bypass.
    pub fn len(&self) -> u64 {
        self.list.len() + self.offload.bypass()
    }

    /// Does it owe none?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
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

    /// The barrier puts its callback into the list ([`Barrier::visit_entrain`]). On an offloaded CPU
    /// [`entrain_nocb`](Cpu::entrain_nocb) does that.
    pub fn entrain_barrier(&mut self, barrier: &mut Barrier) -> Visit {
        barrier.visit_entrain(&mut self.barrier, &mut self.list)
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
