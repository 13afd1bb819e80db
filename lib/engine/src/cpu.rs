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

use core::num::NonZeroU64;

use crate::barrier::{Barrier, CpuMark, Visit};
use crate::cblist::{CbList, Held};
use crate::host::{CpuId, Pos, TurnId};
pub use crate::host::{LANES, Lane};

/// One CPU's callbacks. Each thread has one in each of its queues, so it is small.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cpu {
    pub(crate) lists: [CbList; LANES],
    pub(crate) barrier: CpuMark,
    /// If `is_hurried`: everything queued below these positions is requested, by a hurried call, a barrier, a
    /// passed deadline.
    pub(crate) hurried: [Pos; LANES],
    /// The deadline for the visit of another thread; `None` if nothing is queued.
    pub(crate) deadline: Option<NonZeroU64>,
    /// The time by which queued prompt callbacks have to be stamped.
    pub(crate) prompt: Option<NonZeroU64>,
    /// Time of the last call of the owner or a taker.
    pub(crate) looked: u64,
    /// Its part of the total that is [held](crate::budget).
    pub(crate) reported: Held,
    /// The credit of its owner.
    pub(crate) lent: Held,
    /// Its part of the [untended](crate::pool) ones.
    pub(crate) untended: u32,
    /// The worker that has the turn.
    pub(crate) holder: Option<TurnId>,
    id: CpuId,
    pub(crate) is_hurried: bool,
    /// The last credit was none: a new entry was queued just now.
    pub(crate) tight: bool,
    /// [`Defer::drained`](crate::config::Defer::drained), at the last call.
    pub(crate) drained: bool,
    /// The owner runs the code of its own lane itself.
    pub(crate) owner_runs: bool,
    /// The values in its last batch were large.
    pub(crate) large: bool,
}

const _: () = assert!(size_of::<Cpu>() <= 608);

/// A time as a [`Cpu`] stores it: time 0 is none of those that callbacks wait for.
pub(crate) fn moment(ns: u64) -> Option<NonZeroU64> {
    NonZeroU64::new(ns.max(1))
}

impl Cpu {
    /// A CPU with nothing queued.
    pub const fn new(id: CpuId) -> Cpu {
        Cpu {
            lists: [const { CbList::new() }; LANES],
            barrier: CpuMark::new(),
            hurried: [0; LANES],
            deadline: None,
            prompt: None,
            looked: 0,
            reported: Held::NOTHING,
            lent: Held::NOTHING,
            untended: 0,
            holder: None,
            id,
            is_hurried: false,
            tight: true,
            drained: false,
            owner_runs: false,
            large: false,
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
        self.barrier.ran(&self.lists)
    }

    /// Its state for the barrier.
    pub fn barrier(&self) -> &CpuMark {
        &self.barrier
    }
}
