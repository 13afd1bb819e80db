//! Reader records: the reader words of threads in a domain of the program.
//!
//! ```text
//!   domain A's records   [ unregistered ][ thread 2 ][ thread 7 ]            in order of arrival
//!   domain B's records   [ unregistered ][ thread 7 ]
//!                                   ▲
//!   slot of thread 7    table: A ─► record, B ─► record                 by the number of the domain
//! ```
//!
//! A thread that reads in a domain for the first time gets a *record* there: its own
//! [`ReaderWords`](crate::reader::words::ReaderWords), on cache lines that no other thread writes. The record
//! belongs to the thread's *slot*, and the next thread with that slot continues it; so a domain is not
//! notified when a thread ends, and there are never more records than there were threads at once. A thread
//! has no cost in domains in which it does not read.
//!
//! * A thread notes the record that it used last; the fast path checks that it belongs to this domain, and
//!   stores a word. A thread that alternates between several domains looks its record up in its slot's table
//!   each time.
//! * Records are numbered in order of arrival. The engine uses these numbers, after the two of the
//!   unregistered readers; the tree of a domain is as large as the number of threads that have read there,
//!   not the number of threads in the process.
//! * No lock and no allocator: leaves of records and of tables come from the kernel ([`prim::zeroes`]), and
//!   are never freed. So a section may be opened in a signal handler, even as a thread's first one.
//! * Threads without a slot, and all threads when memory is exhausted, share the
//!   [*unregistered readers*](crate::reader::unregistered).
//! * In fenced mode no record is noted, and every section takes the slow path, which contains the fences.
//!
//! # Edges
//! Those of the process's domain, with the same names: `[RD-1]` to `[RD-3]` belong to the words. `[REG-1]` a
//! claim: the count of records, *full fence*, then the first section; pairs with `[SNAP-1]`. A record is
//! never released, so there is no `[REG-2]`.
//! `[SP-1]` a record's words and its domain are written, then its address is published in the table (release;
//! only its slot's threads, and handlers on them, load it there); the leaf that contains it is published
//! before the count covers it (release, acquire).

use quiescent_engine::{CpuId, LeafId};

use crate::prim::growing::Growing;
use crate::prim::{self, AtomicU32, LEAF_SLOTS, Ordering, full_fence};
use crate::queue::per_thread::Queue;
use crate::reader::local::Local;
use crate::reader::table::ReaderRecord;
use crate::reader::threads::{FULL, Slot};
use crate::reader::unregistered::{UNREGISTERED, Unregistered};

/// Records in the first leaf; each further leaf has twice as many as the one before.
const FIRST: u32 = prim::FIRST_RECORDS;
/// Number of leaves: enough for every possible slot.
const LEAVES: usize = prim::RECORD_LEAVES;
/// The domain to which reader records belong.
#[derive(Clone, Copy, Debug)]
pub struct RecordOwner {
    /// Its address. It lives forever.
    pub place: *const (),
    pub number: u32,
}

/// All records of a domain.
#[derive(Debug)]
pub struct ReaderRecords {
    places: Growing<ReaderRecord, FIRST, LEAVES>,
    /// Number of claimed records.
    claimed: AtomicU32,
    pub unregistered: Unregistered,
}

impl ReaderRecords {
    const_new! {
        pub fn new() -> ReaderRecords {
            ReaderRecords {
                places: Growing::new(),
                claimed: AtomicU32::new(0),
                unregistered: Unregistered::new(),
            }
        }
    }

    /// All claimed records.
    pub fn all(&self) -> impl Iterator<Item = &ReaderRecord> {
        let claimed = self.claimed() as usize;
        self.places.iter().map(|(_, record)| record).take(claimed)
    }

    /// The record with this engine number.
    pub fn of_cpu(&self, cpu: CpuId) -> Option<&ReaderRecord> {
        cpu.checked_sub(UNREGISTERED)
            .and_then(|number| self.places.find(number))
    }

    /// Number of claimed records.
    pub fn claimed(&self) -> u32 {
        self.claimed.load(Ordering::Acquire)
    }

    /// Upper bound (exclusive) of the engine's numbers here.
    pub fn cpus(&self) -> u32 {
        UNREGISTERED + self.claimed()
    }

    /// The record of the calling thread's slot in this domain. Claims one, if it has none. `None`: no memory
    /// for it.
    ///
    /// A handler that runs meanwhile may be first; then its record is the slot's, and the one that was
    /// claimed here stays empty forever.
    pub fn of_slot(
        &'static self,
        domain: RecordOwner,
        slot: &Slot,
    ) -> Option<&'static ReaderRecord> {
        let cell = slot.records.cell(domain.number)?;
        let known = cell.load(Ordering::Acquire); // [SP-1]
        // SAFETY: null, or a record; records live forever.
        if let Some(known) = unsafe { known.as_ref() } {
            return Some(known);
        }
        let new = self.claim(domain, slot)?;
        slot.records.all.add(new); // before a section can be open there
        let order = (Ordering::AcqRel, Ordering::Acquire);
        let raw = std::ptr::from_ref(new).cast_mut();
        match cell.compare_exchange(std::ptr::null_mut(), raw, order.0, order.1) {
            Ok(_) => Some(new),
            // SAFETY: not null, and as above.
            Err(other) => Some(unsafe { &*other }),
        }
    }

    fn claim(&'static self, domain: RecordOwner, slot: &Slot) -> Option<&'static ReaderRecord> {
        let order = (Ordering::AcqRel, Ordering::Relaxed);
        let mut number = self.claimed.load(Ordering::Relaxed);
        let record = loop {
            // SAFETY: zeros are an empty record.
            let record = unsafe { self.places.add(number, ReaderRecord::new) }?;
            match self
                .claimed
                .compare_exchange(number, number + 1, order.0, order.1)
            {
                Ok(_) => break record,
                Err(now) => number = now,
            }
        };
        full_fence(); // [REG-1]
        let _ = std::ptr::from_ref(record).expose_provenance();
        record.words.initialize();
        record.words.reader.allow_asking_as(&slot.words.reader);
        let fenced = slot.words.reader.is_fenced();
        record.words.reader.set_fenced(fenced);
        record.slot.store(slot.cpu(), Ordering::Relaxed);
        record.cpu.store(UNREGISTERED + number, Ordering::Relaxed);
        let domain = domain.place.cast_mut();
        record.domain.store(domain, Ordering::Release); // [SP-1]
        Some(record)
    }

    /// True if a section is open, judged by one scan.
    pub fn is_inside(&self) -> bool {
        !(self.unregistered.scan(0) & self.unregistered.scan(1))
            || self.all().any(|record| !record.words.reader.scan().outside)
    }

    /// In the child of a fork: only the thread that has `own` may be inside a section, and only queues that
    /// `keep` accepts remain. Records are never released.
    #[cfg(feature = "fork")]
    pub fn forked(&self, local: &Local, own: Option<&Slot>, keep: impl Fn(&Queue) -> bool) {
        let own = own.map(Slot::cpu);
        for record in self.all() {
            if own != Some(record.slot()) {
                record.words.end();
            }
            record.queue.forked(&keep);
        }
        // Otherwise they may belong to the forking thread.
        let none_is_own = local.unregistered_elsewhere.count() == 0;
        self.unregistered.forked(none_is_own.then_some([0; 2]));
    }

    /// The present readers of a leaf.
    pub fn present(&self, leaf: LeafId) -> u64 {
        let below = |cpus: u32| {
            let here = u64::from(cpus).saturating_sub((leaf * LEAF_SLOTS) as u64);
            u64::MAX.checked_shr(64 - here.min(64) as u32).unwrap_or(0) & FULL
        };
        below(self.cpus()) & !below(UNREGISTERED) | self.unregistered.present(leaf)
    }

    /// The leaves of a group that may have readers.
    pub fn occupied(&self, group: usize) -> u64 {
        let leaves = self.cpus().div_ceil(LEAF_SLOTS as u32);
        let here = leaves.saturating_sub(group as u32 * 64).min(64);
        u64::MAX.checked_shr(64 - here).unwrap_or(0)
    }
}

#[cfg(all(test, not(quiescent_model)))]
mod tests {
    use super::*;
    use crate::testing::{program, queue};

    #[test]
    fn leaves_are_occupied_as_far_as_there_are_records() {
        let records: &'static ReaderRecords = Box::leak(Box::new(ReaderRecords::new()));
        let occupied = |claimed| {
            records.claimed.store(claimed, Ordering::Relaxed);
            [0, 1, 2].map(|group| records.occupied(group))
        };
        let leaf = LEAF_SLOTS as u32;
        assert_eq!(occupied(0), [1, 0, 0]);
        assert_eq!(occupied(leaf - UNREGISTERED), [1, 0, 0]);
        assert_eq!(occupied(leaf - UNREGISTERED + 1), [3, 0, 0]);
        assert_eq!(occupied(64 * leaf), [u64::MAX, 1, 0]);
        assert_eq!(occupied(130 * leaf), [u64::MAX, u64::MAX, 7]);
    }

    #[test]
    fn a_thread_notes_a_record_and_in_a_child_it_has_no_queue() {
        let program = program();
        let local = program.env.local();
        let domain = program.domain().record_owner();
        program.unlock(program.lock());
        let slot = program.env.own_slot().expect("registered");
        let records: &'static ReaderRecords = Box::leak(Box::new(ReaderRecords::new()));
        let record = records.of_slot(domain, slot).expect("memory");
        assert!(local.noted_record(domain.place).is_none());
        local.note_record(record);
        let noted = local.noted_record(domain.place);
        assert!(noted.is_some_and(|noted| std::ptr::eq(noted, record)));
        local.forget_notes(&program.env.threads.nowhere);
        assert!(local.noted_record(domain.place).is_none());
        let other = queue(1);
        local.set_queue(other);
        assert!(std::ptr::eq(local.queue(), other));
        local.forked(&program.env.common.dummy);
        assert!(local.queue().is_dummy());
    }
}
