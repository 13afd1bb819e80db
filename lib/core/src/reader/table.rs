//! A reader record, and the table of a slot: its records, by the numbers of their domains, and in a list.
//!
//! The table's cells grow behind a pointer, which is null for a slot that reads in no domain of the program.
//! Only the slot's threads, and handlers on them, write here; other threads only read (a fork, the end of a
//! thread).

use quiescent_engine::CpuId;

use crate::prim::growing::{Growing, made};
use crate::prim::linked::{Linked, List, OfSlot};
use crate::prim::{self, AtomicPtr, AtomicU32, Ordering};
use crate::queue::per_thread::QueuePlace;
use crate::reader::words::ReaderWords;

/// The addresses of no domain: not null, the domain of an unused record.
const NOWHERE: usize = 1;
const ELSEWHERE: usize = 2;

/// A thread's record in a domain. Two cache lines of its own, since CPUs prefetch lines in pairs.
#[derive(Debug)]
#[repr(C, align(128))]
pub struct ReaderRecord {
    pub words: ReaderWords,
    /// The address of its domain, whose type this layer does not know.
    pub(super) domain: AtomicPtr<()>,
    /// The number of its slot.
    pub(super) slot: AtomicU32,
    /// Its number here, for the engine.
    pub(super) cpu: AtomicU32,
    /// The queue of its slot's threads here.
    pub queue: QueuePlace,
    /// The records of its slot that are older.
    of_slot: List<ReaderRecord, OfSlot>,
}

impl Linked<OfSlot> for ReaderRecord {
    fn rest(&self) -> &List<ReaderRecord, OfSlot> {
        &self.of_slot
    }
}

impl ReaderRecord {
    const_new! {
        pub fn new() -> ReaderRecord {
            ReaderRecord::at(std::ptr::null_mut())
        }
    }

    const_new! {
        fn at(domain: *mut ()) -> ReaderRecord {
            ReaderRecord {
                words: ReaderWords::new(),
                domain: AtomicPtr::new(domain),
                slot: AtomicU32::new(0),
                cpu: AtomicU32::new(0),
                queue: QueuePlace::new(),
                of_slot: List::new(),
            }
        }
    }

    const_new! {
        /// The record that is noted by a thread without a noted record.
        pub fn nowhere() -> ReaderRecord {
            ReaderRecord::at(std::ptr::without_provenance_mut(NOWHERE))
        }
    }

    const_new! {
        /// The record that is noted in its place by a thread that has had sections without a record: of an
        /// `Srcu`, or of a domain that had no memory for one.
        pub fn elsewhere() -> ReaderRecord {
            ReaderRecord::at(std::ptr::without_provenance_mut(ELSEWHERE))
        }
    }

    /// True for the record that is noted by a thread without a noted record.
    #[inline(always)]
    pub fn is_nowhere(&self) -> bool {
        self.domain.load(Ordering::Relaxed).addr() == NOWHERE
    }

    /// True if the record belongs to this domain.
    #[inline(always)]
    pub fn is_of(&self, domain: *const ()) -> bool {
        self.domain.load(Ordering::Relaxed).cast_const() == domain
    }

    /// The number of its slot.
    pub fn slot(&self) -> u32 {
        self.slot.load(Ordering::Relaxed)
    }

    /// Its number for the engine.
    pub fn cpu(&self) -> CpuId {
        self.cpu.load(Ordering::Relaxed)
    }
}

/// Cells in the first leaf of a table.
const FIRST: u32 = 16;
const LEAVES: usize = prim::TABLE_LEAVES;

/// The address of a record.
type Cell = AtomicPtr<ReaderRecord>;
type Cells = Growing<Cell, FIRST, LEAVES>;

/// The table.
#[derive(Debug)]
pub struct Table {
    cells: AtomicPtr<Cells>,
    /// The same records: what looks at all of them does not look at the cells of other domains.
    pub all: List<ReaderRecord, OfSlot>,
}

impl Table {
    const_new! {
        pub fn new() -> Table {
            Table { cells: AtomicPtr::new(std::ptr::null_mut()), all: List::new() }
        }
    }

    fn cells(&self) -> Option<&Cells> {
        // SAFETY: null, or cells; they live forever.
        unsafe { self.cells.load(Ordering::Acquire).as_ref() }
    }

    /// The cell of this number; creates it. `None`: no memory for it.
    pub(crate) fn cell(&self, number: u32) -> Option<&Cell> {
        // SAFETY: zeros are cells without a leaf.
        let cells = made(&self.cells, || unsafe { prim::zeroes(1, Cells::new) })?;
        let empty = || AtomicPtr::new(std::ptr::null_mut());
        // SAFETY: cells live forever; zeros are empty ones.
        unsafe { (*cells).add(number, empty) }
    }

    /// The record of this number, if there is one.
    pub fn record(&self, number: u32) -> Option<&'static ReaderRecord> {
        record(self.cells()?.find(number)?)
    }
}

fn record(cell: &Cell) -> Option<&'static ReaderRecord> {
    // SAFETY: null, or a record; records live forever.
    unsafe { cell.load(Ordering::Acquire).as_ref() }
}
