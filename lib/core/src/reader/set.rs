//! The readers that a grace period waits for, as used by the driver and the engine.
//!
//! There are three kinds, distinguished at each query of the engine: threads of
//! the process with a slot each, threads that have read in a domain of the program, and counts of sections.

use quiescent_engine::indexed::{BOTH, COUNTS};
use quiescent_engine::{CpuId, Host, LeafId, Seen};

use crate::prim::{AtomicU32, Ordering, full_fence};
use crate::reader::bitmap::UnderLock;
use crate::reader::counted::{Counted, Origin};
use crate::reader::holdout::Holdout;
use crate::reader::records::ReaderRecords;
use crate::reader::registration::Threads;
use crate::reader::threads::{Slots, UNREGISTERED};
use crate::reader::word::{FLAG_CLEAR, generation, nesting};
use crate::reader::words::ReaderWords;

/// The readers of a domain.
#[derive(Clone, Copy, Debug)]
pub enum ReaderSet<'a> {
    Threads(&'a Slots),
    Records(&'a ReaderRecords),
    /// With the threads of the process.
    Counted(&'a Counted, &'a Threads),
}

/// The engine's queries, answered from the readers under the lock of the domain.
#[derive(Clone, Copy)]
pub struct View<'a>(pub ReaderSet<'a>, pub &'a UnderLock);

impl Host for View<'_> {
    fn cpus(&self) -> u32 {
        match &self.0 {
            ReaderSet::Threads(slots) => slots.cpus(),
            ReaderSet::Records(records) => records.cpus(),
            ReaderSet::Counted(..) => COUNTS,
        }
    }

    fn observe(&self, cpu: CpuId) -> Seen {
        let (outside, stamp) = match &self.0 {
            ReaderSet::Threads(slots) => slots.scan(cpu),
            ReaderSet::Records(records) => records.scan(cpu),
            ReaderSet::Counted(counted, _) => (counted.look(cpu as usize), 0),
        };
        Seen { outside, stamp }
    }

    fn present(&self, leaf: LeafId) -> u64 {
        match &self.0 {
            ReaderSet::Threads(slots) => slots.present(leaf),
            ReaderSet::Records(records) => records.present(leaf),
            ReaderSet::Counted(..) => BOTH,
        }
    }

    fn occupied(&self, group: usize) -> u64 {
        match &self.0 {
            ReaderSet::Threads(slots) => slots.occupied(group, self.1),
            ReaderSet::Records(records) => records.occupied(group),
            ReaderSet::Counted(counted, threads) => {
                u64::from(group == 0 && !counted.is_alone(threads))
            }
        }
    }

    /// The first leaf has the unregistered readers: it is always visited.
    fn vacated(&self, leaf: LeafId) {
        if let (ReaderSet::Threads(slots), 1..) = (&self.0, leaf) {
            slots.vacated(leaf, self.1);
        }
    }

    fn join(&self, count: CpuId) {
        if let ReaderSet::Counted(counted, _) = &self.0 {
            counted.join(count);
        }
    }
}

impl<'a> ReaderSet<'a> {
    /// What the engine may query under the lock.
    pub fn under(self, lock: &'a UnderLock) -> View<'a> {
        View(self, lock)
    }

    /// The wake flag of a reader.
    pub fn flag(&self, cpu: CpuId) -> Option<&AtomicU32> {
        match self {
            ReaderSet::Threads(slots) => slots.slot(cpu).map(|slot| &slot.words.reader.flag),
            ReaderSet::Records(records) => records.flag(cpu),
            ReaderSet::Counted(counted, _) => counted.flag(cpu),
        }
    }

    /// The flagged readers among these, as a number that changes with them.
    pub fn flagged(&self, holdouts: impl Iterator<Item = CpuId>) -> u64 {
        let flagged = |&cpu: &CpuId| {
            let flag = self.flag(cpu);
            flag.is_some_and(|flag| flag.load(Ordering::Acquire) != FLAG_CLEAR)
        };
        holdouts.filter(flagged).fold(0, |sum, cpu| {
            (sum ^ u64::from(cpu + 1)).wrapping_mul(0x9e37_79b9_7f4a_7c15) // Knuth's multiplier
        })
    }

    /// The words of a registered thread. None for unregistered readers, and for counts.
    pub fn words(&self, cpu: CpuId) -> Option<&ReaderWords> {
        match self {
            _ if cpu < UNREGISTERED.count_ones() => None,
            ReaderSet::Threads(slots) => slots.slot(cpu).map(|slot| &slot.words),
            ReaderSet::Records(records) => records.of_cpu(cpu).map(|record| &record.words),
            ReaderSet::Counted(..) => None,
        }
    }

    /// The stamp of a registered thread, as a scan sees it now.
    pub fn stamp(&self, cpu: CpuId) -> u64 {
        let word = |words: &ReaderWords| words.reader.word.load(Ordering::Acquire);
        self.words(cpu).map_or(0, |words| generation(word(words)))
    }

    /// The threads behind a reader that was seen with this stamp, and the number of sections each has open,
    /// if they are still in the same section.
    ///
    /// That is checked *after* everything was read, also the name: the slot may have another owner meanwhile,
    /// which blocks nothing, or none.
    pub fn named(&self, cpu: CpuId, stamp: u64, threads: &Slots) -> Vec<Holdout> {
        let named = self.inside_now(cpu, threads);
        full_fence(); // the loads above, then the word: pairs with [REG-1], and with the release of a slot
        let same = |words: &ReaderWords| {
            let word = words.reader.word.load(Ordering::Acquire);
            nesting(word) != 0 && generation(word) == stamp
        };
        match self.words(cpu).is_none_or(same) {
            true => named,
            false => Vec::new(),
        }
    }

    fn inside_now(&self, cpu: CpuId, threads: &Slots) -> Vec<Holdout> {
        let thread = |number: u32| threads.slot(number).map_or(0, |slot| slot.thread());
        let one = |thread, open: u64| (open > 0).then(|| Holdout::new(thread, open as u32));
        match self {
            ReaderSet::Threads(slots) => {
                let slot = slots.slot(cpu);
                let named = slot.and_then(|slot| one(slot.thread(), slot.words.reader.nesting()));
                named.into_iter().collect()
            }
            ReaderSet::Records(records) => {
                let named = match records.of_cpu(cpu) {
                    Some(record) => one(thread(record.slot()), record.words.nesting()),
                    None => one(0, records.unregistered_inside(cpu)), // their threads are unknown
                };
                named.into_iter().collect()
            }
            ReaderSet::Counted(counted, _) => {
                let begun = counted.begun_on(cpu as usize);
                let named = begun.map(|(origin, open)| match origin {
                    Origin::Slot(number) => Holdout::new(thread(number), open as u32),
                    Origin::Unregistered => Holdout::new(0, open as u32),
                    Origin::Parent => Holdout::of_parent(open as u32),
                });
                named.collect()
            }
        }
    }
}

#[cfg(all(test, not(quiescent_model)))]
mod tests;
