//! Chains of blocks, spare blocks, and blocks to be freed.
//!
//! A chain is the memory of a lane: blocks in the order of positions, the last one the block of the end.
//! Blocks leave it from its front. All of this is under the queue's lock, where no memory is allocated or
//! freed. So removed blocks go into [`Garbage`], which the caller drops once it holds no lock, and new blocks
//! are allocated before the lock is taken.

use std::alloc::{Layout, alloc, dealloc};
use std::ptr;

use quiescent_engine::Pos;

use crate::prim::counters::{Counter, count, uncount, value};
use crate::prim::{AtomicPtr, BLOCK, Ordering};
use crate::queue::lane::{Block, LaneWords};

/// The blocks of a lane.
#[derive(Debug)]
pub struct Chain {
    pub(crate) first: *mut Block,
    pub(crate) last: *mut Block,
    /// The block of the end, or one before it: the start of the search for it.
    near_end: *mut Block,
    /// Not the owner consumes, but other threads.
    pub taken: bool,
    /// The owner's head as the taker saw it.
    pub seen: Pos,
    /// Bytes of credit, of which the owner has `left`.
    pub given: u64,
}

/// Blocks to be freed once no lock is held.
#[derive(Debug)]
pub struct Garbage(*mut Block);

impl Garbage {
    pub fn new() -> Garbage {
        Garbage(ptr::null_mut())
    }

    /// Takes a block for reuse: a queue in steady use calls no allocator.
    pub fn pop(&mut self) -> Option<*mut Block> {
        let block = self.0;
        if block.is_null() {
            return None;
        }
        // SAFETY: out of every chain, and followed by the next such block.
        self.0 = unsafe { (*block).next.load(Ordering::Relaxed) };
        Some(block)
    }

    /// Adds `block` and all blocks linked behind it.
    pub(crate) fn push_all(&mut self, mut block: *mut Block) {
        while !block.is_null() {
            let next = Chain::next(block);
            self.push(block);
            block = next;
        }
    }

    pub(crate) fn push(&mut self, block: *mut Block) {
        // SAFETY: the block has left its chain.
        unsafe { (*block).next.store(self.0, Ordering::Relaxed) };
        self.0 = block;
    }
}

impl Drop for Garbage {
    #[inline(never)]
    fn drop(&mut self) {
        while !self.0.is_null() {
            let block = self.0;
            // SAFETY: allocated by `new_block`, in no chain, linked to the next such block.
            unsafe {
                self.0 = (*block).next.load(Ordering::Relaxed);
                #[cfg(quiescent_model)]
                if crate::prim::witness::bury(block) {
                    continue;
                }
                dealloc(block.cast(), Layout::new::<Block>());
            }
            #[cfg(all(test, not(quiescent_model)))]
            tests::FREED.with(|freed| freed.set(freed.get() + 1));
        }
    }
}

/// Spare blocks, linked to each other. Any thread may add one; only the holder of the queue's lock removes
/// one, so no other thread can remove a block before its link is read.
#[derive(Debug)]
pub struct Spares {
    first: AtomicPtr<Block>,
    /// Their number: an estimate while a thread adds one.
    count: Counter,
}

impl Spares {
    const_new! {
        pub fn new() -> Spares {
            Spares {
                first: AtomicPtr::new(ptr::null_mut()),
                count: Counter::new(0),
            }
        }
    }

    pub fn is_empty(&self) -> bool {
        self.first.load(Ordering::Relaxed).is_null()
    }

    /// Their number.
    pub fn len(&self) -> u64 {
        value(&self.count)
    }

    /// Removes one. The caller holds the queue's lock.
    pub fn pop(&self) -> Option<*mut Block> {
        let mut block = self.first.load(Ordering::Acquire);
        loop {
            if block.is_null() {
                return None;
            }
            let order = (Ordering::AcqRel, Ordering::Acquire);
            let next = Chain::next(block); // other threads add blocks, and remove none
            match (self.first).compare_exchange(block, next, order.0, order.1) {
                Ok(_) => break,
                Err(other) => block = other,
            }
        }
        uncount(&self.count);
        Some(block)
    }

    /// Removes all but `keep` of them. The caller holds the queue's lock.
    #[inline(never)]
    pub fn trim(&self, keep: u64, garbage: &mut Garbage) {
        while self.len() > keep {
            let Some(block) = self.pop() else { break };
            garbage.push(block);
        }
    }

    /// Adds a block that belongs to the caller.
    pub(crate) fn add(&self, block: *mut Block) {
        count(&self.count); // before it can be removed
        let mut first = self.first.load(Ordering::Relaxed);
        loop {
            // SAFETY: the block belongs to the caller.
            unsafe { (*block).next.store(first, Ordering::Relaxed) };
            let order = (Ordering::AcqRel, Ordering::Relaxed);
            match (self.first).compare_exchange(first, block, order.0, order.1) {
                Ok(_) => return,
                Err(other) => first = other,
            }
        }
    }
}

/// A new block, written completely, so that later pushes into it cause no page fault. Null without memory.
pub fn new_block() -> *mut Block {
    // SAFETY: the layout has a size.
    let block: *mut Block = unsafe { alloc(Layout::new::<Block>()) }.cast();
    if !block.is_null() {
        // SAFETY: fresh memory of that layout.
        unsafe { block.write(Block::new()) };
    }
    block
}

/// The position behind the block of `at`.
pub fn end_of_block(at: u64) -> u64 {
    (at / BLOCK as u64 + 1) * BLOCK as u64
}

impl Chain {
    pub const fn new() -> Chain {
        Chain {
            first: ptr::null_mut(),
            last: ptr::null_mut(),
            near_end: ptr::null_mut(),
            taken: true,
            seen: 0,
            given: 0,
        }
    }

    /// Bytes queued since the last call.
    pub fn spent(&mut self, words: &LaneWords) -> u64 {
        let left = words.left.load(Ordering::Relaxed);
        std::mem::replace(&mut self.given, left).wrapping_sub(left)
    }

    fn base(block: *mut Block) -> u64 {
        // SAFETY: callers pass a block of the chain.
        unsafe { (*block).base.load(Ordering::Relaxed) }
    }

    /// The next block.
    pub(crate) fn next(block: *mut Block) -> *mut Block {
        // SAFETY: callers pass a block of the chain, or one that has left it.
        unsafe { (*block).next.load(Ordering::Relaxed) }
    }

    /// The end of the last block; 0 if there is none.
    pub fn end(&self) -> u64 {
        match self.last.is_null() {
            true => 0,
            false => Chain::base(self.last) + BLOCK as u64,
        }
    }

    /// True if the chain has a block for this position or a later one.
    pub fn holds(&self, at: u64) -> bool {
        at < self.end()
    }

    /// Links a block at the end; an empty chain begins with the block of `at`.
    pub(crate) fn append(&mut self, block: *mut Block, at: u64) {
        // SAFETY: a spare block belongs to the caller.
        unsafe {
            (*block).next.store(ptr::null_mut(), Ordering::Relaxed);
            (*block)
                .base
                .store(end_of_block(at) - BLOCK as u64, Ordering::Relaxed);
        }
        if self.last.is_null() {
            self.first = block;
            self.near_end = block;
        } else {
            // SAFETY: the last block is in the chain.
            unsafe { (*self.last).next.store(block, Ordering::Relaxed) };
        }
        self.last = block;
    }

    /// The block of a position that is queued, or of the end.
    pub fn block_of(&self, at: u64) -> *mut Block {
        let mut block = self.first;
        while !block.is_null() && at >= Chain::base(block) + BLOCK as u64 {
            block = Chain::next(block);
        }
        block
    }

    /// The block that contains this position, if it is in the chain.
    #[cfg(feature = "helpers")]
    pub fn holder_of(&self, at: u64) -> Option<*mut Block> {
        let block = self.block_of(at);
        (!block.is_null() && Chain::base(block) <= at).then_some(block)
    }

    /// The block of the end; null if there is none.
    pub fn block_of_end(&mut self, end: u64) -> *mut Block {
        if !self.holds(end) {
            return ptr::null_mut();
        }
        while end >= Chain::base(self.near_end) + BLOCK as u64 {
            self.near_end = Chain::next(self.near_end);
        }
        self.near_end
    }

    /// Removes the blocks behind that of the end. No owner may be moving there: the limit is lowered, and a
    /// heavy fence was issued since; or the caller is the owner.
    pub fn cut(&mut self, end: u64, garbage: &mut Garbage) {
        let block = self.block_of_end(end);
        if !block.is_null() {
            let surplus = Chain::next(block);
            // SAFETY: the block is in the chain.
            unsafe { (*block).next.store(ptr::null_mut(), Ordering::Relaxed) };
            self.last = block;
            garbage.push_all(surplus);
        }
    }

    /// Removes all blocks: nothing is queued, and the queue has no owner.
    pub fn clear(&mut self, garbage: &mut Garbage) {
        garbage.push_all(self.first);
        self.first = ptr::null_mut();
        self.last = ptr::null_mut();
        self.near_end = ptr::null_mut();
    }

    /// Removes the blocks that are entirely below `below`, except the last one and that of `pin`.
    pub fn trim(&mut self, below: u64, pin: Option<u64>, garbage: &mut Garbage) {
        let mut kept: *mut Block = ptr::null_mut();
        let mut block = self.first;
        while block != self.last && Chain::base(block) + BLOCK as u64 <= below {
            let next = Chain::next(block);
            let base = Chain::base(block);
            if pin.is_some_and(|pin| base <= pin && pin < base + BLOCK as u64) {
                kept = block;
            } else {
                if kept.is_null() {
                    self.first = next;
                } else {
                    // SAFETY: `kept` is in the chain.
                    unsafe { (*kept).next.store(next, Ordering::Relaxed) };
                }
                garbage.push(block);
                if self.near_end == block {
                    self.near_end = next;
                }
            }
            block = next;
        }
    }
}

#[cfg(all(test, not(quiescent_model)))]
mod tests;
