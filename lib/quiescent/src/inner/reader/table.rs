//! A slot's table: its spots, by the numbers of their domains.
//!
//! Leaves of cells, each twice as large as the one before, behind a directory; made when they are first needed, for ever. A slot that
//! reads in no domain of the program's has a null pointer. The slot's threads write here, and handlers on them; others only look
//! (a fork, the end of a thread).

use crate::inner::prim::growing::{made, place};
use crate::inner::prim::{self, AtomicPtr, Ordering, array_of, const_new};
use crate::inner::reader::spots::Spot;

/// The table.
#[derive(Debug)]
pub(crate) struct Table {
    /// The first cell of each leaf, one leaf behind the other.
    leaves: AtomicPtr<Directory>,
}

/// Leaves of cells; each has twice as many as the one before.
type Directory = [AtomicPtr<Cell>; prim::TABLE_LEAVES];
type Cell = AtomicPtr<Spot>; // where a spot's address is

/// Cells in the first leaf of a table.
const FIRST_CELLS: u32 = 16;

impl Table {
    const_new! {
        pub(crate) fn new() -> Table {
            Table { leaves: AtomicPtr::new(std::ptr::null_mut()) }
        }
    }

    /// The cell of this number; makes it. `None`: there is no memory for it.
    pub(crate) fn cell(&self, number: u32) -> Option<&AtomicPtr<Spot>> {
        let (leaf, at) = place(number, FIRST_CELLS);
        let new_directory =
            || -> Directory { array_of!(AtomicPtr::new(std::ptr::null_mut()); prim::TABLE_LEAVES) };
        // SAFETY: zeros are a directory without leaves.
        let directory = made(&self.leaves, || unsafe { prim::zeroes(1, new_directory) })?;
        // SAFETY: a directory, and those live for ever.
        let directory = unsafe { &*directory };
        let size = (FIRST_CELLS as usize) << leaf;
        let empty = || AtomicPtr::new(std::ptr::null_mut());
        // SAFETY: zeros are empty cells.
        let cells = made(directory.get(leaf)?, || unsafe {
            prim::zeroes(size, empty)
        })?;
        // SAFETY: a leaf of this size, which lives for ever.
        Some(unsafe { &*cells.add(at) })
    }

    /// The spot of this number, if there is one.
    pub(crate) fn spot(&self, number: u32) -> Option<&'static Spot> {
        let (leaf, at) = place(number, FIRST_CELLS);
        // SAFETY: null, or a directory, and those live for ever.
        let directory = unsafe { self.leaves.load(Ordering::Acquire).as_ref() }?;
        let first = directory.get(leaf)?.load(Ordering::Acquire);
        if first.is_null() {
            return None;
        }
        // SAFETY: a leaf of this size, which lives for ever.
        let cell = unsafe { &*first.add(at) };
        // SAFETY: null, or a spot, and those live for ever.
        unsafe { cell.load(Ordering::Acquire).as_ref() }
    }

    /// The spots there are.
    pub(crate) fn spots(&self) -> impl Iterator<Item = &Spot> {
        // SAFETY: null, or a directory, and those live for ever.
        let directory = unsafe { self.leaves.load(Ordering::Acquire).as_ref() };
        let leaves = directory.into_iter().flatten().zip(0u32..);
        leaves.flat_map(|(first, leaf)| {
            let first = first.load(Ordering::Acquire);
            let size = if first.is_null() {
                0
            } else {
                FIRST_CELLS << leaf
            };
            (0..size).filter_map(move |at| {
                // SAFETY: a leaf of this size, which lives for ever.
                let cell = unsafe { &*first.add(at as usize) };
                // SAFETY: null, or a spot, and those live for ever.
                unsafe { cell.load(Ordering::Acquire).as_ref() }
            })
        })
    }
}
