//! The readers that a grace period waits for, as the driver and the engine see them.
//!
//! Three kinds, told apart once for each call of the engine ([`calls`](crate::inner::gp::calls)): threads of the
//! process with a record each, threads that have read in a domain of the program, and counts of sections.

use quiescent_engine::{CpuId, Host, LeafId, Seen};

use crate::inner::prim::{AtomicU32, Ordering};
use crate::inner::reader::counted::Counted;
use crate::inner::reader::spots::Spots;
use crate::inner::reader::threads::Slots;
use crate::inner::reader::word::FLAG_CLEAR;
use crate::statistics::Holdout;

/// The readers of a domain.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ReaderSet<'a> {
    Threads(&'a Slots),
    Spots(&'a Spots),
    Counted(&'a Counted),
}

/// The engine's questions, answered from the slots.
pub(crate) struct View<'a>(pub(crate) &'a Slots);

impl Host for View<'_> {
    const TRACES: bool = false;

    fn cpus(&self) -> u32 {
        self.0.cpus()
    }

    fn observe(&self, cpu: CpuId) -> Seen {
        let (outside, stamp) = self.0.look(cpu);
        Seen { outside, stamp }
    }

    fn present(&self, leaf: LeafId) -> u64 {
        self.0.present(leaf)
    }

    fn occupied(&self, group: usize) -> u64 {
        self.0.occupied(group)
    }

    fn own_quiescent(&self, cpu: CpuId) -> bool {
        self.0.look(cpu).0
    }
}

impl ReaderSet<'_> {
    /// The wake flag of a reader.
    pub(crate) fn flag(&self, cpu: CpuId) -> Option<&AtomicU32> {
        match self {
            ReaderSet::Threads(slots) => slots.slot(cpu).map(|slot| &slot.seat.reader.flag),
            ReaderSet::Spots(spots) => spots.flag(cpu),
            ReaderSet::Counted(counted) => counted.flag(cpu),
        }
    }

    /// The engine has found a leaf empty. Under the lock.
    pub(crate) fn vacated(&self, leaf: usize) {
        if let ReaderSet::Threads(slots) = self {
            slots.vacated(leaf);
        }
    }

    /// New sections join this count. Under the lock.
    pub(crate) fn join(&self, count: CpuId) {
        if let ReaderSet::Counted(counted) = self {
            counted.join(count);
        }
    }

    /// Which of these readers are flagged, as a number that changes when that does.
    pub(crate) fn flagged(&self, holdouts: impl Iterator<Item = CpuId>) -> u64 {
        let flagged = |&cpu: &CpuId| {
            let flag = self.flag(cpu);
            flag.is_some_and(|flag| flag.load(Ordering::Acquire) != FLAG_CLEAR)
        };
        holdouts.filter(flagged).fold(0, |sum, cpu| {
            (sum ^ u64::from(cpu + 1)).wrapping_mul(0x9e37_79b9_7f4a_7c15) // Knuth's
        })
    }

    /// The threads behind a reader that is inside, and how many sections each has open.
    pub(crate) fn named(&self, cpu: CpuId, threads: &Slots) -> Vec<Holdout> {
        let thread = |number: u32| threads.slot(number).map_or(0, |slot| slot.thread());
        let one = |thread, open: u64| (open > 0).then(|| Holdout::new(thread, open as u32));
        match self {
            ReaderSet::Threads(slots) => {
                let slot = slots.slot(cpu);
                let named = slot.and_then(|slot| one(slot.thread(), slot.seat.reader.nesting()));
                named.into_iter().collect()
            }
            ReaderSet::Spots(spots) => {
                let named = match spots.of_cpu(cpu) {
                    Some(spot) => one(thread(spot.slot()), spot.seat.nesting()),
                    None => one(0, spots.in_crowd(cpu)), // which threads those are is not known
                };
                named.into_iter().collect()
            }
            ReaderSet::Counted(counted) => {
                let begun = counted.begun_on(cpu as usize);
                let named =
                    begun.map(|(number, open)| Holdout::new(number.map_or(0, thread), open as u32));
                named.collect()
            }
        }
    }
}
