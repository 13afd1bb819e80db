//! The global allocator: the system's, with a check of blocks of the size and alignment of an `Element`.
//!
//! The library frees a block without destructor without running code of the program, so the allocator checks
//! it. When such a block is freed, its mark becomes poison, its entry is completed if it was retired as a
//! plain one, and it stays in a ring before the system gets it back, so that a late reader loads poison and
//! not the next owner's data. A block whose mark is already poison is freed for the second time.
//!
//! The mark tells elements from other blocks of the same layout. Nothing here allocates, locks or panics.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

use crate::book::element::{ALIVE, Element, POISON};
use crate::book::ending;
use crate::book::finding::Finding;

/// Blocks freed so far.
pub static FREED: AtomicU64 = AtomicU64::new(0);

const MOST: usize = 1 << 14;
static RING: [AtomicPtr<u8>; MOST] = [const { AtomicPtr::new(std::ptr::null_mut()) }; MOST];
static NEXT: AtomicUsize = AtomicUsize::new(0);
static SIZE: AtomicUsize = AtomicUsize::new(0);

/// Keeps the last `count` freed blocks, at most 16 384.
pub fn keep(blocks: usize) {
    SIZE.store(blocks.min(MOST), Ordering::Relaxed);
}

/// The allocator, which the program declares as its global one.
#[derive(Debug)]
pub struct Watching;

#[cfg(test)]
#[global_allocator]
static WATCHING: Watching = Watching;

const SHAPE: Layout = Layout::new::<Element>();

// SAFETY: every call goes to the system's allocator with the same arguments; `dealloc` at the latest
// when another block pushes this one out of the ring.
unsafe impl GlobalAlloc for Watching {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let block = match layout == SHAPE {
            // SAFETY: the caller's promise: a block of this layout that is no longer used.
            true => unsafe { freed(block) },
            false => block,
        };
        if !block.is_null() {
            // SAFETY: the caller's promise, or that of an earlier caller with the same layout.
            unsafe { System.dealloc(block, layout) }
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's promise.
        unsafe { System.realloc(block, layout, size) }
    }
}

/// A block with the layout of an [`Element`] is freed; returns the block that the system gets instead, or
/// null.
///
/// # Safety
/// The block has the layout of an [`Element`], and its owner has given it up.
unsafe fn freed(block: *mut u8) -> *mut u8 {
    // SAFETY: inside the block, and aligned. (In another owner's block this may be memory that was never
    // written; any value is valid.)
    let mark = unsafe { AtomicU64::from_ptr(block.add(Element::MARK).cast()) };
    match mark.load(Ordering::Relaxed) {
        ALIVE => {}
        POISON => {
            Finding::DoubleFree.note(None, FREED.load(Ordering::Relaxed));
            return std::ptr::null_mut();
        }
        _ => return block, // not an element
    }
    FREED.fetch_add(1, Ordering::Relaxed);
    // SAFETY: a whole element, by its mark.
    let element = unsafe { &*block.cast::<Element>() };
    if element.kind.plain() {
        ending::freed(element.entry, element.word());
    }
    mark.store(POISON, Ordering::Relaxed);
    let size = SIZE.load(Ordering::Relaxed);
    let oldest = match size {
        0 => block,
        // Acquire-release: the thread that gets the oldest block writes into it next.
        _ => RING[NEXT.fetch_add(1, Ordering::Relaxed) % size].swap(block, Ordering::AcqRel),
    };
    if !oldest.is_null() {
        // The next owner, of any kind, may not write to the mark before it frees the block.
        // SAFETY: as for `mark`; only this code uses the oldest block.
        unsafe { AtomicU64::from_ptr(oldest.add(Element::MARK).cast()) }
            .store(0, Ordering::Relaxed);
    }
    oldest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::book::entry::Entry;
    use crate::book::kind::Kind;

    #[test]
    fn blocks_are_counted_poisoned_and_freed_once() {
        keep(8);
        let entry: &'static Entry = Box::leak(Box::new(Entry::default()));
        assert!(entry.take(1, Kind::RetirePtr, crate::book::entry::DOMAIN));
        let block = Box::into_raw(Box::new(Element::new(entry, 1, Kind::RetirePtr)));
        // SAFETY: just made.
        unsafe { (*block).set_word(entry.queue(1, 0)) };
        entry.removed();
        let before = FREED.load(Ordering::Relaxed);
        // SAFETY: just made, and not used as an owned box again.
        drop(unsafe { Box::from_raw(block) });
        assert_eq!(FREED.load(Ordering::Relaxed), before + 1);
        assert!(entry.is_free() && entry.age() == 2);
        // SAFETY: the block is in the ring, which keeps it.
        let mark = unsafe { (*block).mark() };
        assert_eq!(mark, POISON);
        // SAFETY: as above; a second free of a block in the ring is counted and not performed.
        unsafe { WATCHING.dealloc(block.cast(), SHAPE) };
        assert_eq!(Finding::DoubleFree.count(), 1);
        assert_eq!(FREED.load(Ordering::Relaxed), before + 1);
    }
}
