//! Memory for ever: pieces of zeroed pages straight from the kernel, which are never given back.
//!
//! No lock and no allocator, so that a signal handler may come for some while the thread that it interrupted is inside either. Pieces
//! are cut off a chunk with an addition; whoever finds the chunk used up maps the next one, and the first to publish his wins. What is left
//! of the old one is lost, less than the piece that did not fit. Large pieces are mapped by themselves.
//!
//! For what is small, needed by readers, and lives as long as the process: their seats in the program's own domains.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use crate::inner::prim;

/// Pieces begin at multiples of this.
pub(crate) const ALIGN: usize = 128;
/// A chunk. Pages of it that nobody has written to take no memory.
const CHUNK: usize = 256 << 10;
/// From here on a piece is mapped by itself.
const LARGE: usize = CHUNK / 8;

/// The head of a chunk.
#[repr(C, align(128))]
struct Chunk {
    /// So much of it is taken, this head included; more than there is, when it is used up.
    used: AtomicUsize,
}

static NOW: AtomicPtr<Chunk> = AtomicPtr::new(std::ptr::null_mut());

/// `size` bytes of zeros, aligned to [`ALIGN`]; `None` without memory.
pub(crate) fn zeroed(size: usize) -> Option<NonNull<u8>> {
    let size = size.checked_next_multiple_of(ALIGN)?;
    if size >= LARGE {
        return prim::map(size);
    }
    loop {
        let chunk = NOW.load(Ordering::Acquire);
        // SAFETY: null, or a chunk, and those live for ever.
        if let Some(head) = unsafe { chunk.as_ref() } {
            let at = head.used.fetch_add(size, Ordering::Relaxed);
            if at + size <= CHUNK {
                // SAFETY: inside the chunk, behind its head, and nobody else's.
                return NonNull::new(unsafe { chunk.cast::<u8>().add(at) });
            }
        }
        let new = prim::map(CHUNK)?;
        let head = new.cast::<Chunk>().as_ptr();
        // SAFETY: page-aligned zeros, and nobody else's yet.
        unsafe { (*head).used.store(size_of::<Chunk>(), Ordering::Relaxed) };
        let order = (Ordering::AcqRel, Ordering::Relaxed);
        if NOW.compare_exchange(chunk, head, order.0, order.1).is_err() {
            // SAFETY: mapped above, and nobody has seen it.
            unsafe { prim::unmap(new, CHUNK) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_zeros_aligned_and_apart() {
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

    /// A piece, written to from end to end.
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
