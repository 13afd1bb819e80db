//! A slot's table: its records, by the numbers of their domains.
//!
//! Its cells grow behind a pointer, which is null for a slot that reads in no domain of the program. Only the
//! slot's threads, and handlers on them, write here; other threads only read (a fork, the end of a thread).

use crate::prim::growing::{Growing, made};
use crate::prim::{self, AtomicPtr, Ordering};
use crate::reader::records::ReaderRecord;

/// Cells in the first leaf of a table.
const FIRST: u32 = 16;
const LEAVES: usize = prim::TABLE_LEAVES;

/// The address of a record.
type Cell = AtomicPtr<ReaderRecord>;
type Cells = Growing<Cell, FIRST, LEAVES>;

/// The table.
#[derive(Debug)]
pub struct Table(AtomicPtr<Cells>);

impl Table {
    const_new! {
        pub fn new() -> Table {
            Table(AtomicPtr::new(std::ptr::null_mut()))
        }
    }

    fn cells(&self) -> Option<&Cells> {
        // SAFETY: null, or cells; they live forever.
        unsafe { self.0.load(Ordering::Acquire).as_ref() }
    }

    /// The cell of this number; creates it. `None`: no memory for it.
    pub(crate) fn cell(&self, number: u32) -> Option<&Cell> {
        // SAFETY: zeros are cells without a leaf.
        let cells = made(&self.0, || unsafe { prim::zeroes(1, Cells::new) })?;
        let empty = || AtomicPtr::new(std::ptr::null_mut());
        // SAFETY: cells live forever; zeros are empty ones.
        unsafe { (*cells).add(number, empty) }
    }

    /// The record of this number, if there is one.
    pub fn record(&self, number: u32) -> Option<&'static ReaderRecord> {
        record(self.cells()?.find(number)?)
    }

    /// All records.
    pub fn records(&self) -> impl Iterator<Item = &'static ReaderRecord> {
        let cells = self.cells().into_iter().flat_map(Growing::iter);
        cells.filter_map(|(_, cell)| record(cell))
    }
}

fn record(cell: &Cell) -> Option<&'static ReaderRecord> {
    // SAFETY: null, or a record; records live forever.
    unsafe { cell.load(Ordering::Acquire).as_ref() }
}
