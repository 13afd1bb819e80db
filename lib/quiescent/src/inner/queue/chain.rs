//! Chains of blocks, and blocks on their way in and out.
//!
//! A chain is the memory of a lane: blocks in the order of positions, the last one the block of the end.
//! Blocks leave it from its front. All of this is under the queue's lock; no memory is allocated or freed
//! there, so what leaves goes into [`Garbage`], which the caller drops once it holds no lock, and what
//! comes was made before.

use std::alloc::{Layout, alloc, dealloc};
use std::ptr;

use quiescent_engine::Pos;

use crate::inner::prim::{AtomicPtr, BLOCK, Ordering, const_new};
use crate::inner::queue::lane::{Block, Lane};

/// The blocks of a lane.
#[derive(Debug)]
pub(crate) struct Chain {
    pub(crate) first: *mut Block,
    pub(crate) last: *mut Block,
    /// The block of the end, or one before it: where to look for it.
    near_end: *mut Block,
    /// Others consume, not the owner.
    pub(crate) taken: bool,
    /// The owner's head as the taker saw it.
    pub(crate) seen: Pos,
    /// Bytes of credit, of which the owner has `left`.
    pub(crate) given: u64,
}

/// Blocks to be given back once no lock is held.
#[derive(Debug)]
pub(crate) struct Garbage(*mut Block);

impl Garbage {
    pub(crate) fn new() -> Garbage {
        Garbage(ptr::null_mut())
    }

    /// One to be used again: a queue in steady use asks no allocator.
    pub(crate) fn pop(&mut self) -> Option<*mut Block> {
        let block = self.0;
        if block.is_null() {
            return None;
        }
        // SAFETY: out of every chain, and followed by the next such block.
        self.0 = unsafe { (*block).next.load(Ordering::Relaxed) };
        Some(block)
    }

    /// Takes in all that is linked from `block` on.
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
    fn drop(&mut self) {
        while !self.0.is_null() {
            let block = self.0;
            // SAFETY: made by `new_block`, out of every chain, followed by the next such block.
            unsafe {
                self.0 = (*block).next.load(Ordering::Relaxed);
                #[cfg(quiescent_model)]
                if crate::inner::check::bury(block) {
                    continue;
                }
                dealloc(block.cast(), Layout::new::<Block>());
            }
            #[cfg(all(test, not(quiescent_model)))]
            tests::FREED.with(|freed| freed.set(freed.get() + 1));
        }
    }
}

/// Blocks that were brought along, linked to each other. Whoever takes takes all of them, so that a block is
/// nobody else's before its link is read.
#[derive(Debug)]
pub(crate) struct Spares(AtomicPtr<Block>);

impl Spares {
    const_new! {
        pub(crate) fn new() -> Spares {
            Spares(AtomicPtr::new(ptr::null_mut()))
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.load(Ordering::Relaxed).is_null()
    }

    /// All of them.
    pub(crate) fn take(&self) -> *mut Block {
        self.0.swap(ptr::null_mut(), Ordering::AcqRel)
    }

    /// Adds one, which is nobody else's.
    pub(crate) fn add(&self, block: *mut Block) {
        let mut first = self.0.load(Ordering::Relaxed);
        loop {
            // SAFETY: the caller's.
            unsafe { (*block).next.store(first, Ordering::Relaxed) };
            let order = (Ordering::AcqRel, Ordering::Relaxed);
            match self.0.compare_exchange(first, block, order.0, order.1) {
                Ok(_) => return,
                Err(other) => first = other,
            }
        }
    }
}

/// A block, written whole: whoever crosses into it meets no page for the first time. Null without memory.
pub(crate) fn new_block() -> *mut Block {
    // SAFETY: the layout has a size.
    let block: *mut Block = unsafe { alloc(Layout::new::<Block>()) }.cast();
    if !block.is_null() {
        // SAFETY: fresh memory of that layout.
        unsafe { block.write(Block::new()) };
    }
    block
}

pub(crate) fn end_of_block(at: u64) -> u64 {
    (at / BLOCK as u64 + 1) * BLOCK as u64
}

impl Chain {
    pub(crate) const fn new() -> Chain {
        Chain {
            first: ptr::null_mut(),
            last: ptr::null_mut(),
            near_end: ptr::null_mut(),
            taken: true,
            seen: 0,
            given: 0,
        }
    }

    /// Bytes queued since the last look.
    pub(crate) fn spent(&mut self, words: &Lane) -> u64 {
        let left = words.left.load(Ordering::Relaxed);
        std::mem::replace(&mut self.given, left).wrapping_sub(left)
    }

    fn base(block: *mut Block) -> u64 {
        // SAFETY: callers pass a block of the chain.
        unsafe { (*block).base.load(Ordering::Relaxed) }
    }

    /// The block behind it.
    pub(crate) fn next(block: *mut Block) -> *mut Block {
        // SAFETY: callers pass a block of the chain, or of what left it.
        unsafe { (*block).next.load(Ordering::Relaxed) }
    }

    /// The end of the last block; 0 if there is none.
    pub(crate) fn end(&self) -> u64 {
        match self.last.is_null() {
            true => 0,
            false => Chain::base(self.last) + BLOCK as u64,
        }
    }

    pub(crate) fn holds(&self, at: u64) -> bool {
        at < self.end()
    }

    pub(crate) fn append(&mut self, block: *mut Block, at: u64) {
        // SAFETY: a spare block is nobody else's.
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
    pub(crate) fn block_of(&self, at: u64) -> *mut Block {
        let mut block = self.first;
        while !block.is_null() && at >= Chain::base(block) + BLOCK as u64 {
            block = Chain::next(block);
        }
        block
    }

    /// The block of the end; null if there is none.
    pub(crate) fn block_of_end(&mut self, end: u64) -> *mut Block {
        if !self.holds(end) {
            return ptr::null_mut();
        }
        while end >= Chain::base(self.near_end) + BLOCK as u64 {
            self.near_end = Chain::next(self.near_end);
        }
        self.near_end
    }

    /// Lets go of the blocks behind that of the end. Nobody may be on the way there: the limit is lowered,
    /// and a heavy fence was issued since; or it is the owner who asks for it.
    pub(crate) fn cut(&mut self, end: u64, garbage: &mut Garbage) {
        let block = self.block_of_end(end);
        if !block.is_null() {
            let surplus = Chain::next(block);
            // SAFETY: the block is in the chain.
            unsafe { (*block).next.store(ptr::null_mut(), Ordering::Relaxed) };
            self.last = block;
            garbage.push_all(surplus);
        }
    }

    /// Lets go of all blocks: nothing is queued, and nobody owns the queue.
    pub(crate) fn clear(&mut self, garbage: &mut Garbage) {
        garbage.push_all(self.first);
        self.first = ptr::null_mut();
        self.last = ptr::null_mut();
        self.near_end = ptr::null_mut();
    }

    /// Lets go of the blocks wholly below `below`, but for the last one and that of `pin`.
    pub(crate) fn trim(&mut self, below: u64, pin: Option<u64>, garbage: &mut Garbage) {
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
