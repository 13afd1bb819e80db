//! Whom a yard's grace periods wait for: the sections of an [`Srcu`](crate::Srcu), which are counted, or the spots of the domain that
//! has it. One question more at each query, which are many where readers are many; the reader's own path knows which it is.

use quiescent_engine::{CpuId, Host, LeafId, Seen};

use super::{MOST_NAMED, Yard};
use crate::inner::domain::grounds::Grounds;
use crate::inner::gp::driven::{Driven as _, Readers};
use crate::inner::prim::{self, AtomicU32, Ordering};
use crate::inner::reader::counted;
use crate::inner::reader::spots;
use crate::inner::reader::word::FLAG_CLEAR;
use crate::statistics::Holdout;

/// The engine's questions, answered from either.
pub(crate) enum View<'a> {
    Counted(counted::View<'a>),
    Spots(spots::View<'a>),
}

/// Asks whichever it is.
macro_rules! ask {
    ($view:expr, $query:ident($($of:expr),*)) => {
        match $view {
            View::Counted(view) => view.$query($($of),*),
            View::Spots(view) => view.$query($($of),*),
        }
    };
}

impl Host for View<'_> {
    const TRACES: bool = false;

    fn cpus(&self) -> u32 {
        ask!(self, cpus())
    }

    fn observe(&self, cpu: CpuId) -> Seen {
        ask!(self, observe(cpu))
    }

    fn present(&self, leaf: LeafId) -> u64 {
        ask!(self, present(leaf))
    }

    fn occupied(&self, group: usize) -> u64 {
        ask!(self, occupied(group))
    }

    fn own_quiescent(&self, cpu: CpuId) -> bool {
        ask!(self, own_quiescent(cpu))
    }
}

impl Readers for Yard {
    type View<'a> = View<'a>;

    fn view(&self) -> View<'_> {
        match self.grounds() {
            Some(grounds) => View::Spots(spots::View(&grounds.spots)),
            None => View::Counted(self.readers.view()),
        }
    }

    fn flag(&self, cpu: CpuId) -> Option<&AtomicU32> {
        match self.grounds() {
            Some(grounds) => grounds.spots.flag(cpu),
            None => self.readers.flag(cpu),
        }
    }

    fn vacated(&self, _: usize) {}

    fn join(&self, count: CpuId) {
        self.readers.join(count);
    }
}

impl Yard {
    /// The domain that has it; none, if it is an `Srcu`'s.
    pub(crate) fn grounds(&self) -> Option<&'static Grounds> {
        // SAFETY: null, or grounds, and those live for ever.
        unsafe { self.grounds.load(Ordering::Acquire).as_ref() }
    }

    /// Which readers are flagged, as a number that changes when that does.
    pub(super) fn flagged(&self) -> u64 {
        let Some(grounds) = self.grounds() else {
            return self.readers.flagged().into();
        };
        let flagged = |&cpu: &CpuId| {
            let flag = grounds.spots.flag(cpu);
            flag.is_some_and(|flag| flag.load(Ordering::Acquire) != FLAG_CLEAR)
        };
        let cpus = (0..grounds.spots.cpus()).filter(flagged);
        cpus.fold(0, |sum, cpu| {
            (sum ^ u64::from(cpu + 1)).wrapping_mul(0x9e37_79b9_7f4a_7c15) // Knuth's
        })
    }

    /// The readers that the grace period in flight waits for, at a domain.
    pub(super) fn holdouts_at(&self, grounds: &'static Grounds) -> Vec<Holdout> {
        let mut cpus = [0u32; MOST_NAMED];
        let mut found = 0;
        let core = self.lock();
        for (place, cpu) in cpus.iter_mut().zip(core.engine.holdouts()) {
            *place = cpu;
            found += 1;
        }
        drop(core);
        let domain = prim::domain();
        let named = cpus[..found].iter().filter_map(|&cpu| {
            let Some(spot) = grounds.spots.of_cpu(cpu) else {
                return Some((0, grounds.spots.in_crowd(cpu))); // nobody knows which threads
            };
            let thread = domain.slots.slot(spot.slot())?.thread();
            Some((thread, spot.seat.nesting()))
        });
        let open = named.filter(|&(_, open)| open > 0);
        open.map(|(thread, open)| Holdout::new(thread, open as u32))
            .collect()
    }
}
