//! Permanent memory: pieces of zeroed pages from the kernel, which are never freed.
//!
//! No lock and no allocator, so that a signal handler may allocate while the interrupted thread is inside
//! either. An addition takes a piece of a chunk; a thread that finds the chunk used up maps the next one, and
//! the first to publish its chunk wins. The rest of the old chunk is lost, less than the piece that did not
//! fit. Large pieces are mapped separately.
//!
//! For small objects that readers need and that live as long as the process: their words in the program's own
//! domains.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use crate::prim;

/// Alignment of pieces.
pub const ALIGN: usize = 128;
/// Size of a chunk. Its pages that were never written occupy no memory.
const CHUNK: usize = 256 << 10;
/// Pieces of at least this size are mapped separately.
const LARGE: usize = CHUNK / 8;

/// The head of a chunk.
#[repr(C, align(128))]
struct Chunk {
    /// Bytes taken, including this head; more than [`CHUNK`] when the chunk is used up.
    used: AtomicUsize,
}

static NOW: AtomicPtr<Chunk> = AtomicPtr::new(std::ptr::null_mut());

/// `size` bytes of zeros, aligned to [`ALIGN`]; `None` without memory.
#[inline(never)]
pub fn zeroed(size: usize) -> Option<NonNull<u8>> {
    let size = size.checked_next_multiple_of(ALIGN)?;
    if size >= LARGE {
        return prim::map(size);
    }
    loop {
        let chunk = NOW.load(Ordering::Acquire);
        // SAFETY: null, or a chunk; chunks live forever.
        if let Some(head) = unsafe { chunk.as_ref() } {
            let at = head.used.fetch_add(size, Ordering::Relaxed);
            if at + size <= CHUNK {
                // SAFETY: inside the chunk, behind its head, and taken by this thread only.
                return NonNull::new(unsafe { chunk.cast::<u8>().add(at) });
            }
        }
        let new = prim::map(CHUNK)?;
        let head = new.cast::<Chunk>().as_ptr();
        // SAFETY: page-aligned zeros, not published yet.
        unsafe { (*head).used.store(size_of::<Chunk>(), Ordering::Relaxed) };
        let order = (Ordering::AcqRel, Ordering::Relaxed);
        if NOW.compare_exchange(chunk, head, order.0, order.1).is_err() {
            // SAFETY: mapped above, and not published.
            unsafe { prim::unmap(new, CHUNK) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_zeroed_aligned_and_disjoint() {
        let threads: Vec<_> = (0..4)
            .map(|_| std::thread::spawn(|| (0..2000).map(piece).collect::<Vec<_>>()))
            .collect();
        let mut pieces: Vec<(usize, usize)> = Vec::new();
        for thread in threads {
            pieces.extend(thread.join().unwrap());
        }
        pieces.sort_unstable();
        for pair in pieces.windows(2) {
            assert!(pair[0].0 + pair[0].1 <= pair[1].0, "{pair:?}");
        }
    }

    /// A piece, completely written.
    fn piece(n: usize) -> (usize, usize) {
        let size = [1, 128, 200, 4096, LARGE][n % 5].min(if n % 50 == 4 { LARGE } else { 4096 });
        let piece = zeroed(size).unwrap();
        assert_eq!(piece.addr().get() % ALIGN, 0);
        // SAFETY: ours, of this size.
        let bytes = unsafe { std::slice::from_raw_parts_mut(piece.as_ptr(), size) };
        assert!(bytes.iter().all(|&byte| byte == 0));
        bytes.fill(0xff);
        (piece.addr().get(), size)
    }
}
