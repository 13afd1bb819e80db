//! What something weighs while it is queued: the bytes that the budget counts.
//!
//! A program that says "64 MiB" means memory of the machine, not the sum of what it asked for. Beside the object there
//! is the queue's own entry of two words, and what the allocator adds: a word of its own, and the next multiple of
//! two words. That is what the common allocators for Linux cost at least on 64 bits (glibc's: a word, multiples of
//! 16, 32 at the least; size classes of others lie between that and a quarter more). A million objects of 64 bytes are so
//! 96 MB, which is what they do take; without it they would be 64. What they own beyond is for
//! [`with_owned_bytes`](crate::Retired::with_owned_bytes).
//!
//! All of it is constant for a type: the fast path subtracts another number.

use quiescent_engine::owner;

/// A queue's entry.
const ENTRY: usize = owner::ENTRY;

/// What a box of `T` takes while it is queued, in bytes.
pub(crate) const fn boxed<T>() -> usize {
    owner::weight(size_of::<T>())
}

/// What a closure takes while it is queued: nothing but its entry if it fits into that.
pub(crate) const fn closure<F>() -> u64 {
    if crate::inner::queue::kind::fits::<F>() {
        ENTRY as u64
    } else {
        boxed::<F>() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_weighs_its_block_and_its_entry() {
        assert_eq!(boxed::<()>(), 16);
        assert_eq!([boxed::<u8>(), boxed::<[u8; 24]>()], [48, 48]);
        assert_eq!([boxed::<[u8; 25]>(), boxed::<[u8; 64]>()], [64, 96]);
        assert_eq!(boxed::<[u8; 4096]>(), 4096 + 16 + 16);
    }

    #[test]
    fn a_closure_of_a_word_weighs_its_entry_only() {
        assert_eq!(closure::<fn()>(), 16);
        assert_eq!(closure::<[u64; 2]>(), 48);
    }

    #[test]
    fn what_the_allocator_takes_is_close() {
        // As seen by the addresses of neighbours: whatever allocator is under us, blocks are no further apart
        // than a quarter more than is counted (and an entry is not part of that).
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
