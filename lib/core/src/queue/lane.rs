//! A lane of a queue, as its owner uses it: push and pop with plain stores.
//!
//! ```text
//!          head         until            end      limit
//!   ────────┬─────────────┬───────────────┬─────────┬──────▶ positions
//!   popped  │ done: may be│ waits for     │ free to │
//!           │ freed here  │ grace periods │ push    │
//! ```
//!
//! A lane is a chain of [`Block`]s. The owner pushes at `end` and frees, at `head`, what is done. It takes
//! the slow path (the queue's lock, the engine) when `end` reaches `limit`: at the end of its credit, at the
//! end of a block, or because another thread has lowered the limit to 0. At the end of a block it needs only
//! another block, and that may be linked already: then the owner continues there without the lock.
//!
//! # Publish, then check
//! The owner may be preempted at any instruction, so a taker cannot stop it; it can only detect what the
//! owner has done. The owner *first* stores the new `head` and `end`, *then* loads the limit (`[RET-2]`:
//! stores, light fence, load). The taker lowers the limit, issues a heavy fence, and reads both ends. Either
//! the owner sees the lowered limit, or the taker sees the owner's stores. An owner that sees the lowered
//! limit takes the lock; there it learns whether the taker has taken already, and undoes its pop if the
//! popped callback was among what was taken ([`per_thread`](crate::queue::per_thread)). The reverse order, a
//! check followed by the push, would be unsound: the fence does not wait for an owner that was preempted in
//! between.
//!
//! `[RET-1]` an entry's words, release of `end`; the taker's load of `end` acquires.
//!
//! # At the end of a block
//! The owner raises the limit from the end of its block to that of the next (at most to `reach`, the end of
//! its credit) by compare-and-exchange, from the value it has seen `[RET-3]`. Two things follow from its
//! success:
//!
//! * No thread had lowered the limit. This is another check, after the publication of `[RET-2]`: so what was
//!   popped in this push is the owner's, and a taker that comes later sees `end`, and leaves the block there.
//! * A lowered limit is not overwritten: the word's changes have one order, and the owner's next load, or its
//!   exchange at the next end, finds the 0.
//!
//! The owner does not access the full block: it may have been freed. The address of the next one is in the
//! owner's words; it is dereferenced after the exchange only. If the exchange fails, a taker may have freed
//! the next block as well, unless it contains `end`; the owner takes the lock, and gets a new address.
//!
//! The lane of destructors has *stops* inside a block, where its owner may look at the memory of the process
//! ([`look`](crate::queue::look)): it raises the limit there in the same way.
//!
//! Bytes are checked here too: when the bytes of its credit are used up, the owner takes the lock.
//!
//! # Popped entries
//! The words of the popped entry are read after the check of the limit. So a taker never frees the block that
//! contains the last popped entry, nor the one that contains `end`.
//!
//! # Popped code
//! A popped entry of the owner's own lane is code of the program: it runs for some time, while a taker finds
//! that it is no longer queued. So the owner publishes what it runs: it stores `running` before it pops, and
//! clears it when the code has returned. `[RUN-1]`:
//!
//! ```text
//!  owner   running; head; end; light fence; limit          before it runs what it has popped
//!          running = 0 (release); light fence; asks         behind it
//!  taker   limit = 0, asks = 1; heavy fence; head (acquire), running (acquire)
//! ```
//!
//! A taker that finds `running` below the head counts these entries as out. The owner finds `asks` when it
//! has run them, takes the lock and reports them, even if it never pushes again. A taker that finds 0 is
//! ordered after everything that the entries did. An owner that pops later finds its limit lowered, and
//! undoes the pop.
//!
//! Memory without a destructor has no such words, which would cost four instructions a push: popped, it
//! counts as freed. So a barrier may end while an owner that was preempted has one or two objects still to
//! free. No code of the program runs in between, and no other thread has them.
//!
//! # The dummy
//! A thread without its own queue has the *dummy*: limit 0, and a block whose content is unused. Its pushes
//! go there and take the slow path at once. Several threads may write there; nothing depends on the content.
//! In fenced mode every thread keeps the dummy, and queues under the lock: there is no heavy fence for a
//! taker to use.

use std::ops::Range;

use crate::prim::{AtomicPtr, AtomicU32, AtomicU64, BLOCK, Ordering, light_fence};
pub use crate::queue::block::{Block, Entry};

/// Bits of the number of entries of code that an owner runs, in the word that says so.
const RUN_BITS: u32 = 4;
/// The largest number that fits.
pub const MOST_RUN: usize = (1 << RUN_BITS) - 1;

/// Entries that the owner has popped, all of them in one block.
#[derive(Clone, Copy, Debug)]
pub struct Popped {
    pub at: u64,
    pub count: u64,
}

impl Popped {
    /// No entry.
    pub const NOTHING: Popped = Popped { at: 0, count: 0 };
}

/// The owner's words of a lane.
#[derive(Debug)]
#[repr(C, align(128))]
pub struct LaneWords {
    /// Everything below is queued.
    pub end: AtomicU64,
    /// The block of `end`.
    pub(crate) block: AtomicPtr<Block>,
    /// Bytes of credit left; the difference from what was given is what was queued.
    pub left: AtomicU64,
    /// The owner frees from here, up to `until`.
    pub head: AtomicU64,
    /// A push that finds `head` below this pops one entry, which is not the last one before `until`.
    pub single: AtomicU64,
    /// The slow path is taken when `end` reaches this. Other threads write this word and `asks` only.
    pub limit: AtomicU64,
    /// The block of `head`.
    pub(crate) head_block: AtomicPtr<Block>,
    /// The end of what is done, at most that of the block of `head`.
    pub until: AtomicU64,
    /// The end of what was done when the engine was last called.
    pub done: AtomicU64,
    /// Pops per push: two if more is done than one per push would soon free.
    pub step: AtomicU32,
    /// A taker waits for what is running.
    pub asks: AtomicU32,
    /// A deadline covers prompt callbacks that are queued from now on.
    pub prompt: AtomicU32,
    /// Number of blocks to be linked behind the block of `end`, if the credit covers them.
    pub ahead: AtomicU32,
    /// The block behind that of `end`, if there is one; must not be dereferenced once the limit is lowered.
    pub(crate) next: AtomicPtr<Block>,
    /// `limit` may be raised up to here without a lock: the end of the credit, or of the last block.
    pub reach: AtomicU64,
    /// The published `gp_seq`, as of the last call of the engine.
    pub published: AtomicU64,
    /// `head` at that time.
    pub freed: AtomicU64,
    /// The popped code that its owner runs: its position times 16, and its number; 0 for none.
    running: AtomicU64,
}

impl LaneWords {
    const_new! {
        pub(crate) fn new(block: *mut Block) -> LaneWords {
            LaneWords {
                end: AtomicU64::new(0),
                block: AtomicPtr::new(block),
                left: AtomicU64::new(0),
                head: AtomicU64::new(0),
                single: AtomicU64::new(0),
                limit: AtomicU64::new(0),
                head_block: AtomicPtr::new(block),
                until: AtomicU64::new(0),
                done: AtomicU64::new(0),
                step: AtomicU32::new(1),
                asks: AtomicU32::new(0),
                prompt: AtomicU32::new(0),
                ahead: AtomicU32::new(0),
                next: AtomicPtr::new(std::ptr::null_mut()),
                reach: AtomicU64::new(0),
                published: AtomicU64::new(0),
                freed: AtomicU64::new(0),
                running: AtomicU64::new(0),
            }
        }
    }

    /// Pushes an entry and pops one or two that are done, if there are any. Only the owner calls this.
    ///
    /// `large`: its bytes alone may use up the credit. Then either `help` is called, if the slow path is
    /// needed (the entry is published anyway, unless the lane is the dummy's, and the popped entries may
    /// belong to a taker), or `pop`, with the position of the popped entry, or `pop_last`, with the range of
    /// positions for [`popped_last`](LaneWords::popped_last). `RUNS`: they are code, which the caller runs.
    #[inline(always)]
    pub fn push<const RUNS: bool>(
        &self,
        entry: Entry,
        bytes: u64,
        large: bool,
        help: impl FnOnce(Popped),
        pop: impl FnOnce(u64),
        pop_last: impl FnOnce(u64, u64),
    ) {
        let end = self.end.load(Ordering::Relaxed);
        let block = self.block.load(Ordering::Relaxed);
        // SAFETY: the block of `end` is the dummy's, or in the chain, where it stays: takers leave it.
        unsafe { (*block).put(end, entry) };
        let left = self.left.load(Ordering::Relaxed).wrapping_sub(bytes);
        self.left.store(left, Ordering::Relaxed);
        let head = self.head.load(Ordering::Relaxed);
        if head < self.single.load(Ordering::Relaxed) {
            self.pop_to::<RUNS>(head, 1);
            match self.publish(end, left, large) {
                true => help(Popped { at: head, count: 1 }),
                false => pop(head),
            }
            return;
        }
        let until = self.until.load(Ordering::Relaxed);
        if head < until {
            let count = u64::from(self.step.load(Ordering::Relaxed)).min(until - head);
            self.pop_to::<RUNS>(head, count);
            match self.publish(end, left, large) {
                true => help(Popped { at: head, count }),
                false => pop_last(head, head + count),
            }
        } else if self.publish(end, left, large) {
            help(Popped::NOTHING);
        }
    }

    /// Stores the head behind the entries that are popped.
    #[inline(always)]
    fn pop_to<const RUNS: bool>(&self, head: u64, count: u64) {
        if RUNS {
            self.set_running(head, count);
            self.head.store(head + count, Ordering::Release); // [RUN-1]
        } else {
            self.head.store(head + count, Ordering::Relaxed);
        }
    }

    /// The owner frees up to here, `step` entries a push.
    pub fn set_until(&self, until: u64, step: u32) {
        let single = if step == 1 {
            until.saturating_sub(1)
        } else {
            0
        };
        self.single.store(single, Ordering::Relaxed);
        self.until.store(until, Ordering::Relaxed);
        self.step.store(step, Ordering::Relaxed);
    }

    /// True if something is done that the owner may pop.
    #[inline(always)]
    pub fn has_done(&self) -> bool {
        self.head.load(Ordering::Relaxed) < self.until.load(Ordering::Relaxed)
    }

    /// Pushes an entry and pops nothing. True: the slow path is needed.
    #[inline(always)]
    pub fn push_only(&self, entry: Entry, bytes: u64) -> bool {
        let end = self.end.load(Ordering::Relaxed);
        let block = self.block.load(Ordering::Relaxed);
        // SAFETY: as in `push`.
        unsafe { (*block).put(end, entry) };
        let left = self.left.load(Ordering::Relaxed).wrapping_sub(bytes);
        self.left.store(left, Ordering::Relaxed);
        self.publish(end, left, true)
    }

    /// The owner has popped so many entries of code from `at` on, and runs them: before the head is stored.
    /// `[RUN-1]`
    #[inline(always)]
    pub fn set_running(&self, at: u64, count: u64) {
        self.running
            .store(at << RUN_BITS | count, Ordering::Relaxed);
    }

    /// It runs them no more. True: a taker asks for a report. Only the owner calls this. `[RUN-1]`
    #[inline(always)]
    pub fn end_running(&self) -> bool {
        self.running.store(0, Ordering::Release);
        light_fence();
        self.asks.load(Ordering::Relaxed) != 0
    }

    /// What the owner runs, for a taker: behind its load of the head. `[RUN-1]`
    pub fn running(&self) -> Range<u64> {
        let running = self.running.load(Ordering::Acquire);
        let at = running >> RUN_BITS;
        at..at + (running & MOST_RUN as u64)
    }

    /// Publishes the new end; true if the slow path is needed.
    #[inline(always)]
    fn publish(&self, end: u64, left: u64, large: bool) -> bool {
        self.end.store(end.wrapping_add(1), Ordering::Release); // [RET-1]
        light_fence(); // [RET-2]
        let limit = self.limit.load(Ordering::Relaxed);
        end.wrapping_add(1) >= limit || (large && left.cast_signed() < 0)
    }

    /// A push needs help. If it only reached the end of a block, with another one linked behind it and credit
    /// left, the lane continues there, without the lock and the engine. Only the owner calls this. True: what
    /// was popped is the owner's.
    ///
    /// If a grace period of another thread has ended since the last call of the engine, the owner calls the
    /// engine: the grace period may have covered something of ours, and what was pushed since has no stamp.
    /// Then the interval between calls is halved, each time.
    ///
    /// The lane continues there for at most `most` entries.
    #[inline]
    pub fn cross(&self, published: &AtomicU64, most: u64) -> bool {
        let end = self.end.load(Ordering::Relaxed);
        let reach = self.reach.load(Ordering::Relaxed);
        let next = self.next.load(Ordering::Relaxed);
        let is_spent = self.left.load(Ordering::Relaxed).cast_signed() < 0;
        if self.limit.load(Ordering::Relaxed) != end {
            return false;
        }
        if published.load(Ordering::Relaxed) != self.published.load(Ordering::Relaxed) {
            let ahead = self.ahead.load(Ordering::Relaxed);
            self.ahead.store(ahead / 2, Ordering::Relaxed);
            return false;
        }
        let is_inside = !end.is_multiple_of(BLOCK as u64);
        if end >= reach || next.is_null() || is_spent || is_inside {
            return false;
        }
        if !self.raise(end, reach.min(end + most.min(BLOCK as u64))) {
            return false;
        }
        self.block.store(next, Ordering::Relaxed);
        // SAFETY: the limit had not been lowered: `next` is in the chain, and is the block of `end`, which
        // takers leave there from now on.
        let behind = unsafe { (*next).behind() };
        self.next.store(behind, Ordering::Relaxed);
        true
    }

    /// A push needs help. If it only reached a stop inside a block, the lane continues there for `most`
    /// entries. Only the owner calls this. True: what was popped is the owner's.
    pub fn pass(&self, most: u64) -> bool {
        let end = self.end.load(Ordering::Relaxed);
        let is_spent = self.left.load(Ordering::Relaxed).cast_signed() < 0;
        let block = end.next_multiple_of(BLOCK as u64);
        let limit = self
            .reach
            .load(Ordering::Relaxed)
            .min(block)
            .min(end + most);
        !is_spent && end < limit && self.raise(end, limit)
    }

    /// Raises the limit from `end`, where it still is. True: no thread had lowered it.
    fn raise(&self, end: u64, limit: u64) -> bool {
        let order = (Ordering::AcqRel, Ordering::Relaxed);
        let raised = (self.limit).compare_exchange(end, limit, order.0, order.1); // [RET-3]
        raised.is_ok()
    }

    /// The entries that [`push`](LaneWords::push) has popped before it took the slow path, and that are the
    /// owner's. They are not freed yet.
    pub fn popped_before(&self, popped: Popped) -> [Option<Entry>; 2] {
        match popped.count {
            0 => [None; 2],
            count => self.popped_last(popped.at, popped.at + count),
        }
    }

    /// A popped entry.
    #[inline(always)]
    pub fn popped(&self, at: u64) -> Entry {
        let block = self.head_block.load(Ordering::Relaxed);
        // SAFETY: a taker leaves the block of the last popped entry.
        unsafe { (*block).get(at) }
    }

    /// The entries popped from `at` up to `next`; then moves to the next block, if this one is used up.
    pub fn popped_last(&self, at: u64, next: u64) -> [Option<Entry>; 2] {
        let (mut places, count) = ([Entry::NONE; 2], next - at);
        let count = self.copy_popped(Popped { at, count }, &mut places);
        std::array::from_fn(|n| (n < count).then_some(places[n]))
    }

    /// Pops up to `most` done entries of code, which the owner then runs; pushes none. True: they are the
    /// owner's. False: the limit is reached or lowered, and they may belong to a taker: the owner takes the
    /// lock to see. `[RUN-1]`
    #[inline(always)]
    pub fn pop_only(&self, most: u64) -> (Popped, bool) {
        let at = self.head.load(Ordering::Relaxed);
        let count = most.min(self.until.load(Ordering::Relaxed).saturating_sub(at));
        if count == 0 {
            return (Popped::NOTHING, true);
        }
        self.pop_to::<true>(at, count);
        light_fence(); // [RET-2]
        let limit = self.limit.load(Ordering::Relaxed);
        let is_own = self.end.load(Ordering::Relaxed) < limit;
        (Popped { at, count }, is_own)
    }

    /// Copies the entries popped; then moves to the next block, if this one is used up. Returns how many.
    #[inline(always)]
    pub fn copy_popped(&self, popped: Popped, places: &mut [Entry]) -> usize {
        let next = popped.at + popped.count;
        let block = self.head_block.load(Ordering::Relaxed);
        for (place, at) in places.iter_mut().zip(popped.at..next) {
            // SAFETY: as in `popped`; all of them are in the block of the last one.
            *place = unsafe { (*block).get(at) };
        }
        if popped.count > 0 && next == self.until.load(Ordering::Relaxed) {
            self.next_block(next);
        }
        popped.count as usize
    }

    /// Pops as many done entries as `places` and the block of `head` allow; returns how many. Only the owner
    /// calls this, under the queue's lock, for a lane that is not taken over: no take-over is completed
    /// meanwhile, so what is popped is the owner's. (What is code, it then notes as running, under the lock.)
    #[inline(never)]
    pub fn pop_many(&self, places: &mut [Entry]) -> usize {
        let at = self.head.load(Ordering::Relaxed);
        let done = self.until.load(Ordering::Relaxed).saturating_sub(at);
        let count = done.min(places.len() as u64);
        self.head.store(at + count, Ordering::Release);
        self.copy_popped(Popped { at, count }, places)
    }

    /// `head` has reached `until`: the end of its block, or of what is done.
    fn next_block(&self, head: u64) {
        let done = self.done.load(Ordering::Relaxed);
        if head < done && head.is_multiple_of(BLOCK as u64) {
            let block = self.head_block.load(Ordering::Relaxed);
            // SAFETY: as in `popped`. The next block is not accessed here: a taker may have freed it, and
            // then it has lowered the limit too, and every pop from it will be undone.
            let next = unsafe { (*block).next.load(Ordering::Relaxed) };
            self.head_block.store(next, Ordering::Relaxed);
            let until = done.min(head + BLOCK as u64);
            self.set_until(until, self.step.load(Ordering::Relaxed));
        }
    }
}

/// Two cache lines, which a processor fetches as a pair, and nothing besides: a domain has six lanes or more.
#[cfg(not(quiescent_model))]
const _: () = assert!(size_of::<LaneWords>() == 128);

#[cfg(all(test, not(quiescent_model)))]
mod tests;
