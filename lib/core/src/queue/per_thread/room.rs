//! Room for pushes: spare blocks, and blocks linked ahead.
//!
//! An owner that needs a block for each [`BLOCK`] pushes would take the lock that often, though its credit is
//! eight times as much; and a push that takes the lock takes some hundred times as long as another one. So
//! several blocks are linked at a time, and at the end of one the owner continues in the next without the
//! lock ([`cross`](crate::queue::lane::LaneWords::cross)).
//!
//! # Number of blocks
//! None ahead at first: most threads retire little. An owner that has used up all its blocks gets more, up to
//! a batch's worth (0, 1, 4, 16, … blocks behind that of the end), never more than its credit reaches. The
//! number returns to 0 when a taker finds at most one block's worth queued. It is halved when the owner
//! finds, at the end of a block, that a grace period of another thread has ended meanwhile: what the owner
//! has pushed without a report has no stamp, and misses such grace periods. When many threads push, all of
//! them soon report often, and share the grace period of the first that requests one; one grace period in ten
//! seconds, a flush, costs an owner at most two reports.
//!
//! While something waits for a grace period that has no driver, the owner takes the lock at the end of each
//! block, as it would without blocks ahead, in order to drive it.
//!
//! Every taker removes the blocks linked ahead; an owner without credit removes them itself. So a thread that
//! no longer pushes keeps none beyond its flush time.
//!
//! # Allocation
//! No memory is allocated under the lock. Before the owner takes it, it computes the number of blocks it will
//! need, minus those linked, minus those it has emptied since, which are reused, minus spare ones. In steady
//! use the result is zero. New blocks are written completely at once: otherwise a later push would take the
//! page fault.
//!
//! Emptied blocks that are not linked again at once stay as spares, as many as may be linked ahead: an
//! allocator that gets each block back and hands it out again spends more time on that than the queue spends
//! on its entries. For the same reason a worker that runs an owner's entries leaves it the blocks they were
//! in (an allocator may collect all its small free blocks when it is asked for a large one). A taker frees
//! all but one.

use std::ptr;

use quiescent_engine::owner::more_ahead;

use crate::prim::{AtomicU64, BLOCK, MutexGuard, Ordering};
use crate::queue::chain::{Chain, Garbage, new_block};
use crate::queue::lane::Entry;
use crate::queue::per_thread::{Queue, QueueCore};

impl Queue {
    /// Allocates a spare block for `lane`, if there is none. Called with no lock held. False: no memory.
    pub fn provide(&self, lane: usize) -> bool {
        self.provide_many(lane, 1)
    }

    /// Allocates spare blocks, up to `count` in all. Called with no lock held. False: no memory for all.
    fn provide_many(&self, lane: usize, count: u64) -> bool {
        let spares = &self.spares[lane];
        let known = if spares.is_empty() { 0 } else { spares.len() };
        for _ in known..count {
            let block = new_block();
            if block.is_null() {
                return false;
            }
            spares.add(block);
        }
        true
    }

    /// Puts an entry at the end of a queue that many threads share: others may have used the spare block of
    /// the caller, which then allocates another, with the lock released. False: no memory for it.
    pub fn put_among_others<'a>(
        &'a self,
        mut core: MutexGuard<'a, QueueCore>,
        lane: usize,
        entry: Entry,
        bytes: u64,
    ) -> (MutexGuard<'a, QueueCore>, bool) {
        loop {
            if self.put(&mut core, lane, entry, bytes) {
                return (core, true);
            }
            drop(core);
            let brought = self.provide(lane);
            core = self.lock();
            if !brought {
                return (core, false);
            }
        }
    }

    /// Called before the owner takes the lock at `end`: if it has used up all linked blocks, it gets more
    /// from now on; and it allocates the blocks that it will need in addition to those that it has emptied
    /// since the last time.
    pub fn prepare(&self, lane: usize) {
        let words = &self.lanes[lane];
        let end = words.end.load(Ordering::Relaxed);
        let mut ahead = words.ahead.load(Ordering::Relaxed);
        if end == words.reach.load(Ordering::Relaxed) {
            let most = self.most_ahead[lane].load(std::sync::atomic::Ordering::Relaxed);
            ahead = more_ahead(ahead, most);
            words.ahead.store(ahead, Ordering::Relaxed);
        }
        if end.is_multiple_of(BLOCK as u64) || self.is_starved(lane) {
            let block = |at: u64| at / BLOCK as u64;
            let load = |at: &AtomicU64| block(at.load(Ordering::Relaxed));
            let emptied = load(&words.head).saturating_sub(load(&words.freed));
            let linked = self.linked[lane].load(std::sync::atomic::Ordering::Relaxed);
            let there = block(linked) + emptied;
            let count = (block(end) + 1 + u64::from(ahead)).saturating_sub(there);
            self.provide_many(lane, count.max(1));
        }
    }

    /// Takes emptied blocks as spares, up to so many in all.
    pub(super) fn keep_spares(&self, lane: usize, keep: u64, used: &mut Garbage) {
        let spares = &self.spares[lane];
        while spares.len() < keep {
            let Some(block) = used.pop() else { break };
            spares.add(block);
        }
    }

    /// Links blocks up to `reach`, which is beyond `end`, as far as available: `used` ones, and spare ones.
    /// With `used`, as many as may be linked ahead stay as spares, or one. False: there is none for `end`.
    pub(super) fn make_room(
        &self,
        core: &mut QueueCore,
        lane: usize,
        reach: u64,
        used: Option<&mut Garbage>,
    ) -> bool {
        let (words, chain) = (&self.lanes[lane], &mut core.chains[lane]);
        let end = words.end.load(Ordering::Relaxed);
        let spares = &self.spares[lane];
        let mut used = used;
        while !chain.holds(reach - 1) {
            let emptied = used.as_mut().and_then(|used| used.pop());
            let Some(block) = emptied.or_else(|| spares.pop()) else {
                break;
            };
            let at = if chain.holds(end) { chain.end() } else { end };
            chain.append(block, at);
        }
        if let Some(used) = used {
            let keep = u64::from(words.ahead.load(Ordering::Relaxed)).max(1);
            self.keep_spares(lane, keep, used);
            spares.trim(keep, used);
        }
        let block = chain.block_of_end(end);
        let room = !block.is_null();
        let (block, next) = match room {
            true => (block, Chain::next(block)),
            false => (self.nothing(), ptr::null_mut()),
        };
        words.block.store(block, Ordering::Relaxed);
        words.next.store(next, Ordering::Relaxed);
        room
    }
}
