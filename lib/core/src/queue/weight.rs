//! The bytes that the budget counts for a queued item.
//!
//! A budget of "64 MiB" means memory of the machine, not the sum of the requested sizes. In addition to the
//! object there is the queue's own entry of two words, and the allocator's overhead: one word, and rounding
//! to the next multiple of two words. That is the minimum of the common 64-bit allocators for Linux (glibc's:
//! one word, multiples of 16, at least 32; size classes of others lie between that and a quarter more). So a
//! million objects of 64 bytes count as 96 MB, which is what they occupy, and not as 64. What the objects own
//! beyond that is declared with `with_owned_bytes`.
//!
//! All of it is constant for a type: the fast path subtracts a different constant.

use quiescent_engine::owner;

/// A queue's entry.
const ENTRY: usize = owner::ENTRY;

/// The bytes that the budget counts for a queued box of `T`.
pub const fn boxed<T>() -> usize {
    owner::weight(size_of::<T>())
}

/// The bytes that the budget counts for a queued closure: only its entry if it fits into that.
pub const fn closure<F>() -> u64 {
    if crate::queue::kind::fits::<F>() {
        ENTRY as u64
    } else {
        boxed::<F>() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_counts_its_block_and_its_entry() {
        assert_eq!(boxed::<()>(), 16);
        assert_eq!([boxed::<u8>(), boxed::<[u8; 24]>()], [48, 48]);
        assert_eq!([boxed::<[u8; 25]>(), boxed::<[u8; 64]>()], [64, 96]);
        assert_eq!(boxed::<[u8; 4096]>(), 4096 + 16 + 16);
    }

    #[test]
    fn a_closure_of_a_word_counts_its_entry_only() {
        assert_eq!(closure::<fn()>(), 16);
        assert_eq!(closure::<[u64; 2]>(), 48);
    }

    #[test]
    fn counted_bytes_are_close_to_the_allocator() {
        // Measured by the addresses of neighbours: with any allocator, blocks are at most a quarter further
        // apart than what is counted (without the entry).
        let boxes: Vec<Box<[u8; 64]>> = (0..1000).map(|_| Box::new([0; 64])).collect();
        let mut places: Vec<usize> = boxes.iter().map(|it| &raw const **it as usize).collect();
        places.sort_unstable();
        let mut apart: Vec<usize> = places.windows(2).map(|it| it[1] - it[0]).collect();
        apart.sort_unstable();
        let median = apart[apart.len() / 2];
        let counted = boxed::<[u8; 64]>() - ENTRY;
        assert!(64 <= median && median <= counted + counted / 4, "{median}");
    }
}
