//! Room for what is pushed: blocks that are brought along, and linked ahead.
//!
//! An owner that needs a block for each [`BLOCK`] pushes would come for the lock that often, though its credit is
//! eight times as much; and a push that comes for the lock is some hundred times slower than another one. So
//! several blocks are linked at a time, and at the end of one the owner goes on into the next by itself
//! ([`cross`](crate::inner::queue::lane::Lane::cross)).
//!
//! # How many
//! None ahead at first: most threads retire little. An owner that has used up all it was given gets more, up to
//! a batch's worth (0, 1, 4, 8 blocks behind that of the end), never more than its credit reaches. It starts
//! again with none when a taker finds no more than a block's worth queued: a quiet one. It gets half as many
//! when it finds, at the end of a block, that a grace period has ended meanwhile by somebody else's doing. What
//! it has pushed without telling anybody has no stamp, and misses such grace periods. Where many threads
//! push, all of them soon look often, and go along with whoever asks first; one grace period in ten seconds, a
//! flush, costs an owner no more than two looks.
//!
//! While something waits for a grace period that nobody drives, the owner looks at the end of each block, as it
//! would without blocks ahead: to drive it.
//!
//! Every taker gives back what is linked ahead; an owner without credit does so itself. So a thread that has
//! gone quiet keeps none beyond its flush time.
//!
//! # Where they come from
//! No memory is allocated under the lock. The owner counts before it takes it: what it will want, less what is
//! linked, less the blocks it has emptied since, which are used again. In steady use that is nothing. New ones
//! are written whole then and there: a page that is met for the first time later costs its push a fault.

use std::ptr;

use quiescent_engine::owner::more_ahead;

use crate::inner::prim::{self, AtomicU64, BLOCK, MutexGuard, Ordering};
use crate::inner::queue::chain::{Chain, Garbage, new_block};
use crate::inner::queue::lane::Entry;
use crate::inner::queue::per_thread::{Core, Queue};

impl Queue {
    /// Brings a spare block for `lane`, if there is none. With no lock held. False: there is no memory for one.
    pub(crate) fn provide(&self, lane: usize) -> bool {
        self.provide_many(lane, 1)
    }

    /// Brings spare blocks, up to this many. With no lock held. False: there is no memory for all.
    fn provide_many(&self, lane: usize, count: u64) -> bool {
        let spares = &self.spares[lane];
        let known = u64::from(!spares.is_empty()); // one is kept, or none
        for _ in known..count {
            let block = new_block();
            if block.is_null() {
                return false;
            }
            spares.add(block);
        }
        true
    }

    /// Puts an entry at the end of a queue that many share: they may have used up what the caller brought along, and then it
    /// brings more. The lock is let go of meanwhile. False: there is no memory for it.
    pub(crate) fn put_among_others<'a>(
        &'a self,
        mut core: MutexGuard<'a, Core>,
        lane: usize,
        entry: Entry,
        bytes: u64,
    ) -> (MutexGuard<'a, Core>, bool) {
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

    /// The owner is about to come for the lock at `end`: if it has used up all that was linked for it, it
    /// gets more from here on; and it brings as many blocks along as it is going to need beyond those
    /// that it has emptied since the last time.
    pub(crate) fn prepare(&self, lane: usize) {
        let words = &self.lanes[lane];
        let end = words.end.load(Ordering::Relaxed);
        let mut ahead = words.ahead.load(Ordering::Relaxed);
        if end == words.reach.load(Ordering::Relaxed) {
            ahead = more_ahead(ahead);
            words.ahead.store(ahead, Ordering::Relaxed);
        }
        if end.is_multiple_of(BLOCK as u64) || self.is_starved(lane) {
            let block = |at: u64| at / BLOCK as u64;
            let load = |at: &AtomicU64| block(at.load(Ordering::Relaxed));
            let emptied = load(&words.head).saturating_sub(load(&words.freed));
            let there = load(&words.linked) + emptied;
            let count = (block(end) + 1 + u64::from(ahead)).saturating_sub(there);
            self.provide_many(lane, count.max(1));
        }
    }

    /// Links blocks up to `reach`, which is beyond `end`, as far as there are any: spare ones, and `used` ones. All
    /// spare blocks but one are used, or given back. False: there is none for `end`.
    pub(super) fn make_room(
        &self,
        core: &mut Core,
        lane: usize,
        reach: u64,
        used: Option<&mut Garbage>,
    ) -> bool {
        let (words, chain) = (&self.lanes[lane], &mut core.chains[lane]);
        let end = words.end.load(Ordering::Relaxed);
        if !chain.holds(reach - 1) {
            let mut none = Garbage::new();
            let used = used.unwrap_or(&mut none);
            used.push_all(self.spares[lane].take());
            while !chain.holds(reach - 1)
                && let Some(block) = used.pop()
            {
                let at = if chain.holds(end) { chain.end() } else { end };
                chain.append(block, at);
            }
            if let Some(block) = used.pop() {
                self.spares[lane].add(block);
            }
            while let Some(block) = none.pop() {
                self.spares[lane].add(block);
            }
        }
        let block = chain.block_of_end(end);
        let room = !block.is_null();
        let (block, next) = match room {
            true => (block, Chain::next(block)),
            false => (prim::dummy_block(), ptr::null_mut()),
        };
        words.block.store(block, Ordering::Relaxed);
        words.next.store(next, Ordering::Relaxed);
        room
    }
}
