//! An allocator that accepts only memory that it has returned with the same layout.
//!
//! It stores the requested layout in front of each block.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};

/// Pieces given back that were never given, or in another layout, or twice. They are kept.
pub static WRONG: AtomicU32 = AtomicU32::new(0);
/// Pieces aligned to a page or more that are in use.
pub static PAGES: AtomicI64 = AtomicI64::new(0);

pub const PAGE: usize = 4096;
/// Words of a note: size, alignment, and whether the piece is in use. The last is next to the piece.
type Note = [u64; 3];
const IN_USE: u64 = 0x0dd5_1ce5_0dd5_1ce5;

/// The piece with its note, and how far in the piece begins.
fn with_note(layout: Layout) -> (Layout, usize) {
    let align = layout.align().max(32);
    let whole = Layout::from_size_align(layout.size() + align, align).expect("a small piece");
    (whole, align)
}

/// The system's allocator, with room in front.
pub struct Strict;

// SAFETY: the system's allocator gives the memory, and gets it back.
unsafe impl GlobalAlloc for Strict {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let (whole, front) = with_note(layout);
        // SAFETY: the layout has a size.
        let memory = unsafe { System.alloc(whole) };
        if memory.is_null() {
            return memory;
        }
        PAGES.fetch_add(i64::from(layout.align() >= PAGE), Ordering::Relaxed);
        let note = [layout.size() as u64, layout.align() as u64, IN_USE];
        // SAFETY: `front` bytes, 32 at least, precede the piece, which is aligned to 8 at least.
        unsafe {
            let piece = memory.add(front);
            piece.cast::<Note>().sub(1).write(note);
            piece
        }
    }

    unsafe fn dealloc(&self, piece: *mut u8, layout: Layout) {
        let expected = [layout.size() as u64, layout.align() as u64, IN_USE];
        // Nothing that was ever given is down there.
        let known = piece.addr() > PAGE && {
            // SAFETY: the caller passes an allocated block, so its layout precedes it.
            let note = unsafe { &mut *piece.cast::<Note>().sub(1) };
            let known = *note == expected;
            note[2] = 0;
            known
        };
        if !known {
            WRONG.fetch_add(1, Ordering::Relaxed);
            return;
        }
        PAGES.fetch_sub(i64::from(layout.align() >= PAGE), Ordering::Relaxed);
        let (whole, front) = with_note(layout);
        // SAFETY: given by `alloc`, with this layout, and not given back before.
        unsafe { System.dealloc(piece.sub(front), whole) };
    }
}
