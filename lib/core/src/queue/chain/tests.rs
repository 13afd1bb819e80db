//! The operations on chains, position by position: the tests compare the addresses of blocks, and never read
//! blocks.

use std::cell::Cell;

use super::*;

thread_local! {
    /// Number of blocks that this thread has freed.
    pub(super) static FREED: Cell<u64> = const { Cell::new(0) };
}

const N: u64 = BLOCK as u64;

/// A chain of `count` blocks, the first of which is that of `from`; and the blocks.
fn chain_of(count: u64, from: u64) -> (Chain, Vec<*mut Block>) {
    let mut chain = Chain::new();
    let add = |n| {
        let block = new_block();
        assert!(!block.is_null());
        chain.append(block, from + n * N);
        block
    };
    let blocks = (0..count).map(add).collect();
    (chain, blocks)
}

/// Its content, the last one first; the content stays.
fn held(garbage: &mut Garbage) -> Vec<*mut Block> {
    let held: Vec<_> = std::iter::from_fn(|| garbage.pop()).collect();
    held.iter().rev().for_each(|block| garbage.push(*block));
    held
}

/// Its blocks in order.
fn linked(chain: &Chain) -> Vec<*mut Block> {
    let next = |block: &*mut Block| Some(Chain::next(*block)).filter(|next| !next.is_null());
    let first = Some(chain.first).filter(|first| !first.is_null());
    std::iter::successors(first, next).collect()
}

/// Frees its blocks.
fn free(mut chain: Chain) {
    chain.clear(&mut Garbage::new());
}

#[test]
fn block_of_finds_the_block_of_a_position() {
    for from in [0, 5 * N] {
        let (mut chain, blocks) = chain_of(3, from + 7);
        assert_eq!(chain.end(), from + 3 * N);
        assert_eq!(linked(&chain), blocks);
        let places = [(0, 0), (N - 1, 0), (N, 1), (2 * N - 1, 1), (3 * N - 1, 2)];
        for (at, block) in places {
            assert!(chain.holds(from + at));
            assert_eq!(chain.block_of(from + at), blocks[block], "{at}");
            assert_eq!(chain.block_of_end(from + at), blocks[block], "{at}");
        }
        assert!(!chain.holds(from + 3 * N));
        assert!(chain.block_of(from + 3 * N).is_null());
        assert!(chain.block_of_end(from + 3 * N).is_null());
        free(chain);
    }
    let mut none = Chain::new();
    assert_eq!(none.end(), 0);
    assert!(!none.holds(0) && none.block_of(0).is_null() && none.block_of_end(0).is_null());
}

#[test]
fn cut_removes_blocks_behind_the_end() {
    for (end, left) in [(0, 1), (N - 1, 1), (N, 2), (2 * N, 3), (3 * N, 3)] {
        let (mut chain, blocks) = chain_of(3, 0);
        let mut garbage = Garbage::new();
        chain.cut(end, &mut garbage);
        assert_eq!(linked(&chain), blocks[..left], "{end}");
        assert_eq!(chain.end(), left as u64 * N, "{end}");
        assert_eq!(held(&mut garbage).len(), 3 - left, "{end}");
        free(chain);
    }
}

#[test]
fn a_cleared_chain_is_empty() {
    let (mut chain, blocks) = chain_of(2, 0);
    let mut garbage = Garbage::new();
    chain.clear(&mut garbage);
    assert_eq!(held(&mut garbage), [blocks[1], blocks[0]]);
    assert!(linked(&chain).is_empty() && chain.end() == 0);
    let block = garbage.pop().expect("two are there");
    chain.append(block, 9 * N);
    assert_eq!(linked(&chain), [block]);
    assert_eq!(chain.block_of_end(9 * N), block);
    free(chain);
}

#[test]
fn trim_removes_blocks_below_except_the_last() {
    let cases = [
        (0, 0),
        (N - 1, 0),
        (N, 1),
        (2 * N - 1, 1),
        (2 * N, 2),
        (3 * N, 2),
        (9 * N, 2),
    ];
    for (below, gone) in cases {
        let (mut chain, blocks) = chain_of(3, 0);
        let mut garbage = Garbage::new();
        chain.trim(below, None, &mut garbage);
        assert_eq!(linked(&chain), blocks[gone..], "{below}");
        let freed: Vec<_> = blocks[..gone].iter().rev().copied().collect();
        assert_eq!(held(&mut garbage), freed, "{below}");
        // The start of the search for the end has not been freed.
        assert_eq!(chain.block_of_end(2 * N), blocks[2]);
        free(chain);
    }
}

#[test]
fn trim_keeps_the_pinned_block() {
    // The blocks, of four, that stay when all positions are below: the last one, and that of the pin.
    for (pin, stays) in [
        (0, 0),
        (N - 1, 0),
        (N, 1),
        (2 * N - 1, 1),
        (2 * N, 2),
        (3 * N, 3),
    ] {
        let (mut chain, blocks) = chain_of(4, 0);
        let mut garbage = Garbage::new();
        chain.trim(4 * N, Some(pin), &mut garbage);
        let mut left = vec![blocks[stays], blocks[3]];
        left.dedup();
        assert_eq!(linked(&chain), left, "{pin}");
        assert_eq!(held(&mut garbage).len(), 4 - left.len(), "{pin}");
        assert_eq!(chain.block_of_end(4 * N - 1), blocks[3]);
        free(chain);
    }
}

/// `near_end` moves when its block is removed, and only then.
#[test]
fn near_end_moves_when_its_block_is_removed() {
    let (mut chain, blocks) = chain_of(3, 0);
    chain.trim(N, None, &mut Garbage::new());
    assert_eq!(chain.near_end, blocks[1]);
    assert_eq!(chain.block_of_end(2 * N), blocks[2]);
    chain.trim(2 * N, None, &mut Garbage::new());
    assert_eq!(chain.near_end, blocks[2]);
    free(chain);
}

#[test]
fn dropped_garbage_is_freed() {
    let before = FREED.get();
    let mut garbage = Garbage::new();
    (0..3).for_each(|_| garbage.push(new_block()));
    assert_eq!(FREED.get(), before);
    drop(garbage);
    assert_eq!(FREED.get(), before + 3);
}

#[test]
fn spares_are_removed_one_by_one() {
    let spares = Spares::new();
    assert!(spares.is_empty() && spares.pop().is_none());
    let blocks = [(); 4].map(|()| new_block());
    blocks.iter().for_each(|block| spares.add(*block));
    assert_eq!((spares.is_empty(), spares.len()), (false, 4));
    assert_eq!(spares.pop(), Some(blocks[3]));
    let mut garbage = Garbage::new();
    garbage.push(blocks[3]);
    for (keep, left) in [(5, 3), (1, 1), (0, 0)] {
        spares.trim(keep, &mut garbage);
        assert_eq!(spares.len(), left);
    }
    assert!(spares.is_empty());
    assert_eq!(held(&mut garbage).len(), 4);
}

#[test]
fn spent_bytes_are_counted_once() {
    let (mut chain, words) = (Chain::new(), LaneWords::new(ptr::null_mut()));
    chain.given = 100;
    words.left.store(30, Ordering::Relaxed);
    assert_eq!(chain.spent(&words), 70);
    assert_eq!(chain.spent(&words), 0);
    words.left.store(10_u64.wrapping_neg(), Ordering::Relaxed); // more than it was given
    assert_eq!(chain.spent(&words), 40);
}
