//! Numbers for the owner of a queue in a thread host between two calls of the engine, and the weight of an
//! object.
//!
//! The engine decides how far an owner may go alone ([`Credit`](crate::credit::Credit)). The host decides how
//! (in blocks, some of them linked ahead). Two hosts do it, the library and the machine model; both use these
//! numbers.

/// Entries in a block of a queue.
pub const BLOCK: usize = 256;

/// Blocks that are linked behind that of the end, at most, whatever a batch is.
pub const MOST_AHEAD: u32 = 64;

/// Done entries that are taken out of a queue at once.
pub const MOST_TAKEN: usize = 256;

/// Pieces of a grace period that a driver does in one hold of the lock ([`step`](crate::Global::step)).
pub const STEPS_A_HOLD: u32 = 32;

/// A queue's entry: two words.
pub const ENTRY: usize = size_of::<usize>() + size_of::<u64>();

/// What a value with a destructor is taken to own if nothing is declared: the heap behind a small container.
pub const UNWEIGHED: usize = 1 << 10;

/// The granularity of allocators.
const GRAIN: usize = 2 * size_of::<usize>();

/// The memory of an object of this many bytes while it is queued: its block, as common allocators for 64 bits
/// have it (a word more, multiples of two words, four at the least; none for no bytes), and its entry.
pub const fn weight(size: usize) -> usize {
    block(size).saturating_add(ENTRY)
}

/// The memory of an allocated block of this many bytes.
pub const fn block(size: usize) -> usize {
    match size {
        0 => 0, // no memory at all
        size => {
            let whole = size.saturating_add(size_of::<usize>());
            let block = whole.saturating_add(GRAIN - 1) / GRAIN * GRAIN;
            if block < 2 * GRAIN { 2 * GRAIN } else { block }
        }
    }
}

/// Blocks to be linked ahead for an owner that has used up all that it was given; `most` is a batch's worth.
pub const fn more_ahead(ahead: u32, most: u32) -> u32 {
    match 4 * ahead {
        0 => 1,
        more if more > most => most,
        more => more,
    }
}

/// The blocks of a batch, with so many entries in a block (models have small ones).
#[inline]
pub fn blocks_of(batch: u64, block: usize) -> u32 {
    let blocks = batch.div_ceil(block as u64);
    blocks.clamp(1, u64::from(MOST_AHEAD)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_ahead_grow_to_a_batch() {
        let defer = crate::config::Defer::threads();
        let (least, most) = (
            blocks_of(defer.batch, BLOCK),
            blocks_of(defer.batch * u64::from(defer.growth), BLOCK),
        );
        assert_eq!((least, most), (8, 32));
        assert_eq!(
            blocks_of(2 * defer.batch * u64::from(defer.growth), BLOCK),
            MOST_AHEAD
        );
        assert_eq!(
            [0, 1, 256, 257, u64::MAX].map(|batch| blocks_of(batch, BLOCK)),
            [1, 1, 1, 2, 64]
        );
        for (most, expected) in [(least, [1, 4, 8, 8]), (most, [1, 4, 16, 32])] {
            let mut ahead = 0;
            for expected in expected {
                ahead = more_ahead(ahead, most);
                assert_eq!(ahead, expected);
            }
        }
    }

    #[test]
    fn an_object_weighs_its_block_and_its_entry() {
        let (weights, blocks) = match usize::BITS {
            64 => ([16, 48, 48, 64, 96], [0, 32, 48]),
            _ => ([12, 28, 44, 44, 84], [0, 32, 32]),
        };
        assert_eq!([0, 1, 24, 25, 64].map(weight), weights);
        assert_eq!([0, 24, 25].map(block), blocks);
    }
}
