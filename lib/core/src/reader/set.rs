//! The readers that a grace period waits for, as used by the driver and the engine: what their three kinds
//! differ in.

use quiescent_engine::indexed::{BOTH, COUNTS};
use quiescent_engine::{CpuId, Host, LeafId, Seen};

use crate::prim::{AtomicU32, Ordering, full_fence};
use crate::queue::per_thread::{Queue, QueuePlace};
use crate::reader::bitmap::UnderLock;
use crate::reader::counted::{Counted, Origin};
use crate::reader::foreign::{ForeignReaders, ForeignWords};
use crate::reader::holdout::Holdout;
use crate::reader::local::Local;
use crate::reader::records::{ReaderRecords, RecordOwner};
use crate::reader::registration::Threads;
use crate::reader::tally::Tally;
use crate::reader::threads::Slot;
use crate::reader::unregistered::{UNREGISTERED, Unregistered};
use crate::reader::word::FLAG_CLEAR;
use crate::reader::words::ReaderWords;

/// The readers of a domain, and the place of a thread's words for them. Stored in place, since domains live
/// forever: a box would cost each reader one more load.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)]
pub enum DomainReaders {
    /// The process's domain: one record per thread, found through a thread-local.
    Threads,
    /// A domain of the program: one record for each thread that has read in it.
    Records(ReaderRecords),
    /// An `Srcu`: counts of sections.
    Counted(Counted),
    /// A domain of another library's readers: words that its inlined code writes.
    Foreign(ForeignReaders),
}

impl DomainReaders {
    pub fn is_threads(&self) -> bool {
        matches!(self, DomainReaders::Threads)
    }

    /// The words of another library's readers.
    pub fn foreign(&self) -> Option<&'static dyn ForeignWords> {
        match self {
            DomainReaders::Foreign(foreign) => Some(foreign.words),
            _ => None,
        }
    }

    /// The counts of an `Srcu`.
    pub fn counted(&self) -> Option<&Counted> {
        match self {
            DomainReaders::Counted(counted) => Some(counted),
            _ => None,
        }
    }

    /// Where a slot's queue is noted if its threads have no record of their own: with an `Srcu`'s counts, or
    /// beside words of another library's readers.
    pub fn tally_if_any(&self, slot: &Slot) -> Option<&Tally> {
        let tallies = match self {
            DomainReaders::Threads | DomainReaders::Records(_) => return None,
            DomainReaders::Counted(counted) => counted,
            DomainReaders::Foreign(foreign) => &foreign.queues,
        };
        tallies.of_slot_if_any(slot.cpu())
    }

    /// The number of a slot's threads among the readers, and the place of their queue; creates both. `None`:
    /// no memory.
    pub fn queue_place(
        &'static self,
        domain: RecordOwner,
        slot: &'static Slot,
    ) -> Option<(u32, &'static QueuePlace)> {
        Some(match self {
            DomainReaders::Threads => (slot.cpu(), &slot.queue),
            DomainReaders::Records(records) => {
                let record = records.of_slot(domain, slot)?;
                (record.cpu(), &record.queue)
            }
            DomainReaders::Counted(counted) => (0, &counted.of_slot(slot.cpu())?.queue),
            DomainReaders::Foreign(foreign) => {
                (slot.cpu(), &foreign.queues.of_slot(slot.cpu())?.queue)
            }
        })
    }

    /// True if a section is open, judged by one scan.
    pub fn is_inside(&self) -> bool {
        match self {
            // Domains of foreign readers are never dropped.
            DomainReaders::Threads | DomainReaders::Foreign(_) => true,
            DomainReaders::Records(records) => records.is_inside(),
            DomainReaders::Counted(counted) => counted.is_inside(),
        }
    }

    /// Number of records of threads that have read here.
    pub fn records(&self) -> u32 {
        match self {
            DomainReaders::Records(records) => records.claimed(),
            _ => 0,
        }
    }

    /// In the child of a fork: only sections of the thread that has `own` remain open, and those of an `Srcu`
    /// that may have been sent; and only queues that `keep` accepts, none of them attached. (Those of the
    /// process's domain: [`Threads::forked`].)
    #[cfg(feature = "fork")]
    pub fn forked(&self, local: &Local, own: Option<&Slot>, keep: impl Fn(&Queue) -> bool) {
        match self {
            DomainReaders::Threads => {}
            DomainReaders::Records(records) => records.forked(local, own, keep),
            DomainReaders::Counted(counted) => counted.forked(local, own.map(Slot::cpu), keep),
            DomainReaders::Foreign(foreign) => {
                foreign.queues.forked(local, own.map(Slot::cpu), keep);
                foreign.words.forked(own.map(Slot::cpu));
            }
        }
    }
}

/// The readers of a domain, with the threads of the process.
#[derive(Clone, Copy, Debug)]
pub struct ReaderSet<'a>(pub &'a DomainReaders, pub &'a Threads);

/// The engine's queries, answered from the readers under the lock of the domain.
#[derive(Clone, Copy)]
pub struct View<'a>(pub ReaderSet<'a>, pub &'a UnderLock);

impl Host for View<'_> {
    fn cpus(&self) -> u32 {
        match self.0 {
            ReaderSet(DomainReaders::Threads | DomainReaders::Foreign(_), threads) => {
                threads.slots.cpus()
            }
            ReaderSet(DomainReaders::Records(records), _) => records.cpus(),
            ReaderSet(DomainReaders::Counted(_), _) => COUNTS,
        }
    }

    fn observe(&self, cpu: CpuId) -> Seen {
        if let Some(words) = self.0.words(cpu) {
            return words.reader.scan();
        }
        if let Some(foreign) = self.0.0.foreign() {
            return foreign.observe(cpu);
        }
        let outside = match self.0 {
            ReaderSet(DomainReaders::Counted(counted), _) => counted.look(cpu as usize),
            _ => self.0.unregistered().is_none_or(|them| them.scan(cpu)),
        };
        Seen { outside, stamp: 0 }
    }

    fn present(&self, leaf: LeafId) -> u64 {
        match self.0 {
            ReaderSet(DomainReaders::Threads | DomainReaders::Foreign(_), threads) => {
                threads.slots.present(leaf)
            }
            ReaderSet(DomainReaders::Records(records), _) => records.present(leaf),
            ReaderSet(DomainReaders::Counted(_), _) => BOTH,
        }
    }

    #[inline(never)]
    fn occupied(&self, group: usize) -> u64 {
        match self.0 {
            ReaderSet(DomainReaders::Threads, threads) => threads.slots.occupied(group, self.1),
            // Not the map: that is under the lock of the process's domain.
            ReaderSet(DomainReaders::Foreign(_), threads) => threads.slots.claimed_leaves(group),
            ReaderSet(DomainReaders::Records(records), _) => records.occupied(group),
            ReaderSet(DomainReaders::Counted(counted), threads) => {
                u64::from(group == 0 && !counted.is_alone(threads))
            }
        }
    }

    /// The first leaf has the unregistered readers: it is always visited.
    fn vacated(&self, leaf: LeafId) {
        if self.0.0.is_threads() && leaf != 0 {
            self.0.1.slots.vacated(leaf, self.1);
        }
    }

    fn join(&self, count: CpuId) {
        if let DomainReaders::Counted(counted) = self.0.0 {
            counted.join(count);
        }
    }
}

impl<'a> ReaderSet<'a> {
    /// What the engine may query under the lock.
    pub fn under(self, lock: &'a UnderLock) -> View<'a> {
        View(self, lock)
    }

    fn unregistered(self) -> Option<&'a Unregistered> {
        match self.0 {
            DomainReaders::Threads => Some(&self.1.slots.unregistered),
            DomainReaders::Records(records) => Some(&records.unregistered),
            DomainReaders::Counted(_) | DomainReaders::Foreign(_) => None,
        }
    }

    /// The wake flag of a reader.
    pub fn flag(self, cpu: CpuId) -> Option<&'a AtomicU32> {
        match (self.0, self.words(cpu)) {
            (DomainReaders::Counted(counted), _) => counted.flag(cpu),
            (_, Some(words)) => Some(&words.reader.flag),
            _ => self.unregistered()?.counter(cpu).map(|it| &it.flag),
        }
    }

    /// The flagged readers among these, as a number that changes with them.
    pub fn flagged(self, holdouts: impl Iterator<Item = CpuId>) -> u64 {
        let flagged = |&cpu: &CpuId| {
            let flag = self.flag(cpu);
            flag.is_some_and(|flag| flag.load(Ordering::Acquire) != FLAG_CLEAR)
        };
        holdouts.filter(flagged).fold(0, |sum, cpu| {
            (sum ^ u64::from(cpu + 1)).wrapping_mul(0x9e37_79b9_7f4a_7c15) // Knuth's multiplier
        })
    }

    /// The words of a registered thread. None for unregistered readers, and for counts.
    pub fn words(self, cpu: CpuId) -> Option<&'a ReaderWords> {
        match self.0 {
            _ if cpu < UNREGISTERED => None,
            DomainReaders::Threads => self.1.slots.slot(cpu).map(|slot| &slot.words),
            DomainReaders::Records(records) => records.of_cpu(cpu).map(|record| &record.words),
            DomainReaders::Counted(_) | DomainReaders::Foreign(_) => None,
        }
    }

    /// The stamp of a registered thread, as a scan sees it now.
    pub fn stamp(self, cpu: CpuId) -> u64 {
        self.words(cpu).map_or(0, |words| words.reader.scan().stamp)
    }

    /// The threads behind a reader that was seen with this stamp, and the number of sections each has open,
    /// if they are still in the same section.
    ///
    /// That is checked *after* everything was read, also the name: the slot may have another owner meanwhile,
    /// which blocks nothing, or none.
    pub fn named(self, cpu: CpuId, stamp: u64) -> Vec<Holdout> {
        let named = self.inside_now(cpu);
        full_fence(); // the loads above, then the word: pairs with [REG-1], and with the release of a slot
        let outside = false;
        let words = self.words(cpu);
        match words.is_none_or(|words| words.reader.scan() == Seen { outside, stamp }) {
            true => named,
            false => Vec::new(),
        }
    }

    fn inside_now(self, cpu: CpuId) -> Vec<Holdout> {
        let thread = |number: u32| self.1.slots.slot(number).map_or(0, Slot::thread);
        let (number, words) = match self.0 {
            DomainReaders::Counted(counted) => {
                let begun = counted.begun_on(cpu as usize);
                let named = begun.map(|(origin, open)| match origin {
                    Origin::Slot(number) => Holdout::new(thread(number), open as u32),
                    Origin::Unregistered => Holdout::new(0, open as u32),
                    Origin::Parent => Holdout::of_parent(open as u32),
                });
                return named.collect();
            }
            DomainReaders::Foreign(_) => return vec![Holdout::new(thread(cpu), 1)],
            DomainReaders::Threads => (Some(cpu), self.words(cpu)),
            DomainReaders::Records(records) => {
                (records.of_cpu(cpu).map(|it| it.slot()), self.words(cpu))
            }
        };
        let (thread, open) = match words {
            Some(words) => (number.map_or(0, thread), words.nesting()),
            // Their threads are unknown.
            None => (0, self.unregistered().map_or(0, |them| them.inside(cpu))),
        };
        let named = (open > 0).then(|| Holdout::new(thread, open as u32));
        named.into_iter().collect()
    }
}

#[cfg(all(test, not(quiescent_model)))]
mod tests;
