//! A slot's table: its records, by the numbers of their domains.
//!
//! Leaves of cells, each twice as large as the one before, behind a directory; created when first needed, and
//! never freed. A slot that reads in no domain of the program has a null pointer. Only the slot's threads,
//! and handlers on them, write here; other threads only read (a fork, the end of a thread).

use crate::prim::growing::{made, place};
use crate::prim::{self, AtomicPtr, Ordering};
use crate::reader::records::ReaderRecord;

/// The table.
#[derive(Debug)]
pub struct Table {
    /// The first cell of each leaf, in the order of the leaves.
    leaves: AtomicPtr<Directory>,
}

/// Leaves of cells; each has twice as many as the one before.
type Directory = [AtomicPtr<Cell>; prim::TABLE_LEAVES];
type Cell = AtomicPtr<ReaderRecord>; // the address of a record

/// Cells in the first leaf of a table.
const FIRST_CELLS: u32 = 16;

impl Table {
    const_new! {
        pub fn new() -> Table {
            Table { leaves: AtomicPtr::new(std::ptr::null_mut()) }
        }
    }

    /// The cell of this number; creates it. `None`: no memory for it.
    pub(crate) fn cell(&self, number: u32) -> Option<&AtomicPtr<ReaderRecord>> {
        let (leaf, at) = place(number, FIRST_CELLS);
        let new_directory =
            || -> Directory { array_of!(AtomicPtr::new(std::ptr::null_mut()); prim::TABLE_LEAVES) };
        // SAFETY: zeros are a directory without leaves.
        let directory = made(&self.leaves, || unsafe { prim::zeroes(1, new_directory) })?;
        // SAFETY: a directory; directories live forever.
        let directory = unsafe { &*directory };
        let size = (FIRST_CELLS as usize) << leaf;
        let empty = || AtomicPtr::new(std::ptr::null_mut());
        // SAFETY: zeros are empty cells.
        let cells = made(directory.get(leaf)?, || unsafe {
            prim::zeroes(size, empty)
        })?;
        // SAFETY: a leaf of this size, which lives forever.
        Some(unsafe { &*cells.add(at) })
    }

    /// The record of this number, if there is one.
    pub fn record(&self, number: u32) -> Option<&'static ReaderRecord> {
        let (leaf, at) = place(number, FIRST_CELLS);
        // SAFETY: null, or a directory; directories live forever.
        let directory = unsafe { self.leaves.load(Ordering::Acquire).as_ref() }?;
        let first = directory.get(leaf)?.load(Ordering::Acquire);
        if first.is_null() {
            return None;
        }
        // SAFETY: a leaf of this size, which lives forever.
        let cell = unsafe { &*first.add(at) };
        // SAFETY: null, or a record; records live forever.
        unsafe { cell.load(Ordering::Acquire).as_ref() }
    }

    /// All records.
    pub fn records(&self) -> RecordsOf<'_> {
        RecordsOf {
            // SAFETY: null, or a directory; directories live forever.
            directory: unsafe { self.leaves.load(Ordering::Acquire).as_ref() },
            leaf: 0,
            at: 0,
        }
    }
}

/// The records of a table.
#[derive(Debug)]
pub struct RecordsOf<'t> {
    directory: Option<&'t [AtomicPtr<AtomicPtr<ReaderRecord>>; crate::prim::TABLE_LEAVES]>,
    leaf: usize,
    at: u32,
}

impl<'t> Iterator for RecordsOf<'t> {
    type Item = &'t ReaderRecord;

    #[inline(never)]
    fn next(&mut self) -> Option<&'t ReaderRecord> {
        while let Some(first) = self.directory?.get(self.leaf) {
            let first = first.load(Ordering::Acquire);
            while !first.is_null() && self.at < FIRST_CELLS << self.leaf {
                // SAFETY: a leaf of this size, which lives forever.
                let cell = unsafe { &*first.add(self.at as usize) };
                self.at += 1;
                // SAFETY: null, or a record; records live forever.
                if let Some(record) = unsafe { cell.load(Ordering::Acquire).as_ref() } {
                    return Some(record);
                }
            }
            self.leaf += 1;
            self.at = 0;
        }
        None
    }
}
