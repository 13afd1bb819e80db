//! A thread's queue: its lanes, and what its lock protects.
//!
//! The owner works on the lanes' words without the lock ([`lane`](crate::inner::queue::lane)). Everything else (the
//! chains of blocks, the engine's cut positions, who consumes) is behind the lock, which the owner takes
//! once a batch and others when they must: a worker, a barrier, an exit. A queue belongs to a *slot*:
//! it outlives its thread, and the next thread with that slot inherits what is queued.
//!
//! # Who consumes
//! Of the lane of plain memory either the owner consumes, by popping, or whoever has the lock. A flag
//! says which. Code is always consumed under the lock, one callback at a time, so that a barrier knows
//! what is being run and by whom. The owner's turn ends only in its own hands (in [`settle`](Queue::settle)) or by a *take-over*:
//!
//! | step | taker | what the owner may do meanwhile |
//! |---|---|---|
//! | 1 | lock: limits to 0, `revoking` | push and pop once more, then come for the lock |
//! | 2 | heavy fence `[RET-2]`, no lock held | the same |
//! | 3 | lock: still `revoking`? Read both ends: everything in between is taken, `seen` = head | the same, but a pop at or past `seen` is undone under the lock |
//!
//! An owner that gets the lock between 1 and 3 knows its ends exactly, and does step 3 itself.
//!
//! # Invariants
//! * `block` of a lane holds the position `end`: it is linked before `end` gets there. Where memory is
//!   gone, the lane gets the dummy's block and limit 0, and the next push finds out.
//! * Blocks leave a chain from its front, under the lock. While others consume, the block of the
//!   position before `seen` stays, and so do the last one and all from that of `end` on: the owner may
//!   still look at them, or go there.
//! * Blocks behind that of `end` leave it when nobody can be on the way there: in step 3, behind the fence
//!   (an owner goes on by raising its limit, which fails `[RET-3]`), or by the owner under the lock.
//! * No memory is allocated or freed under the lock: spare blocks are brought along, empty ones are
//!   taken along ([`Garbage`]).

use std::alloc::{Layout, alloc};
use std::ops::Range;
use std::ptr;
use std::sync::PoisonError;

use quiescent_engine::Pos;
use quiescent_engine::cpu::{Cpu, LANES, Lane as Which};
use quiescent_engine::credit::{Cause, Credit, Queued};

use crate::inner::domain::state::State;
use crate::inner::gp::calls::Part;
use crate::inner::prim::{
    self, AtomicPtr, BLOCK, Mutex, MutexGuard, Ordering, array_of, const_new,
};
use crate::inner::queue::chain::{Chain, Garbage, Spares, end_of_block};
use crate::inner::queue::intrusive::Heads;
use crate::inner::queue::lane::{Block, Entry, Lane, Popped};
use crate::watch::telemetry::Told;

/// The lane of memory that is given back without running code.
pub(crate) const PLAIN: usize = Which::Plain as usize;
/// The lane of closures and destructors.
pub(crate) const CODE: usize = Which::Code as usize;
/// Lanes that are made of blocks.
pub(crate) const BLOCK_LANES: usize = 2;

/// A queue.
#[derive(Debug)]
#[repr(C)]
pub struct Queue {
    pub(crate) lanes: [Lane; BLOCK_LANES],
    /// Blocks for each lane, brought along.
    spares: [Spares; BLOCK_LANES],
    core: Mutex<Core>,
    /// Its lock, while this process forks.
    #[cfg(not(quiescent_model))]
    pub(crate) parked: crate::global::fork::Parked<Core>,
    /// The queue made before this one: [`Queues`](crate::inner::queue::all::Queues).
    pub(crate) made_before: AtomicPtr<Queue>,
    /// The next one of the same slot, in another domain.
    pub(crate) next_of_slot: AtomicPtr<Queue>,
    /// The state of the domain that it belongs to; null for the process's.
    state: AtomicPtr<State>,
    /// Where its owner finds it in a domain of the program, as long as it is attached; null for the process's.
    found_at: AtomicPtr<AtomicPtr<Queue>>,
}

/// What the lock protects.
#[derive(Debug)]
pub(crate) struct Core {
    /// The engine's side of it.
    pub(crate) cpu: Part<Cpu>,
    chains: [Chain; BLOCK_LANES],
    pub(crate) heads: Heads,
    /// What it has told of itself.
    pub(crate) told: Told,
    /// A thread works on the lanes' words without the lock.
    owned: bool,
    /// A take-over has begun.
    revoking: bool,
    /// Chosen by the sweep under way, for this.
    pub(crate) chosen: Option<Cause>,
    /// Whether others reclaim, if the owner has asked for either.
    pub(crate) offload: Option<bool>,
    /// The owner does not reclaim, as of the last report.
    pub(crate) hands_off: bool,
}

// SAFETY: the blocks are followed under the queue's lock, or by the owner as far as the module's text says.
unsafe impl Send for Core {}

impl Queue {
    const_new! {
        /// An empty queue of slot `cpu`; `dummy` is a block that nobody reads.
        pub(crate) fn new(cpu: u32, dummy: *mut Block) -> Queue {
            Queue {
                lanes: [Lane::new(dummy), Lane::new(dummy)],
                spares: array_of!(Spares::new(); BLOCK_LANES),
                core: Mutex::new(Core {
                    cpu: Part::new(Cpu::new(cpu)),
                    chains: [const { Chain::new() }; BLOCK_LANES],
                    heads: Heads::new(),
                    told: Told::new(),
                    owned: false,
                    revoking: false,
                    chosen: None,
                    offload: None,
                    hands_off: false,
                }),
                #[cfg(not(quiescent_model))]
                parked: crate::global::fork::Parked::new(),
                made_before: AtomicPtr::new(ptr::null_mut()),
                next_of_slot: AtomicPtr::new(ptr::null_mut()),
                state: AtomicPtr::new(ptr::null_mut()),
                found_at: AtomicPtr::new(ptr::null_mut()),
            }
        }
    }

    /// Belongs to a domain of the program from now on, whose thread looks for it here. Nobody else knows it yet.
    pub(crate) fn belong_to(&self, state: &'static State, found_at: &'static AtomicPtr<Queue>) {
        let state = ptr::from_ref(state).cast_mut();
        self.state.store(state, Ordering::Relaxed);
        let found_at = ptr::from_ref(found_at).cast_mut();
        self.found_at.store(found_at, Ordering::Relaxed);
    }

    /// The state of its domain.
    pub(crate) fn state(&self) -> &'static State {
        // SAFETY: null, or a state, and those live for ever.
        let state = unsafe { self.state.load(Ordering::Relaxed).as_ref() };
        state.unwrap_or_else(prim::domain)
    }

    /// A queue that lives for ever; `None` without memory.
    pub(crate) fn leak(cpu: u32) -> Option<&'static Queue> {
        // SAFETY: the layout has a size.
        let place: *mut Queue = unsafe { alloc(Layout::new::<Queue>()) }.cast();
        if place.is_null() {
            return None;
        }
        // SAFETY: fresh memory of that layout, never given back.
        unsafe {
            place.write(Queue::new(cpu, prim::dummy_block()));
            #[cfg(quiescent_model)]
            return Some(prim::keep(Box::from_raw(place)));
            #[cfg(not(quiescent_model))]
            Some(&*place)
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Core> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the lock, if it is free.
    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, Core>> {
        self.core.try_lock().ok()
    }

    /// Puts an entry at the end, under the lock and by the owner or where there is none. False: there
    /// is no memory for it.
    pub(crate) fn put(&self, core: &mut Core, lane: usize, entry: Entry, bytes: u64) -> bool {
        let words = &self.lanes[lane];
        let end = words.end.load(Ordering::Relaxed);
        if !self.make_room(core, lane, end + 1, None) {
            return false;
        }
        let block = words.block.load(Ordering::Relaxed);
        // SAFETY: room was made: the block holds `end`.
        unsafe { (*block).put(end, entry) };
        let left = words.left.load(Ordering::Relaxed);
        words
            .left
            .store(left.wrapping_sub(bytes), Ordering::Relaxed);
        words.end.store(end + 1, Ordering::Release); // [RET-1]
        true
    }

    // The owner, or whoever holds the lock of a queue without one.

    /// The calling thread works on the lanes' words from now on.
    pub(crate) fn attach(&self, core: &mut Core) {
        core.owned = true;
    }

    /// The owner is gone; without credit nobody pushes any more.
    pub(crate) fn detach(&self, core: &mut Core) {
        core.owned = false;
    }

    /// What was popped and is truly the owner's: all of it, unless it was taken over before.
    pub(crate) fn keep(&self, core: &Core, lane: usize, popped: Popped) -> [Option<Entry>; 2] {
        let chain = &core.chains[lane];
        let kept = popped.count > 0 && !(chain.taken && popped.at >= chain.seen);
        std::array::from_fn(|n| {
            let at = popped.at + n as u64;
            (kept && (n as u64) < popped.count).then(|| self.lanes[lane].popped(at))
        })
    }

    /// What the owner has done since the last look, for the engine; and whether it is to reclaim.
    pub(crate) fn report(&self, core: &mut Core, hands_off: bool) -> [Queued; LANES] {
        core.hands_off = hands_off;
        let heads = core.heads.report();
        let mut queued = [heads; LANES];
        for (lane, queued) in queued.iter_mut().enumerate().take(BLOCK_LANES) {
            let (words, chain) = (&self.lanes[lane], &mut core.chains[lane]);
            *queued = Queued {
                end: words.end.load(Ordering::Relaxed),
                bytes: chain.spent(words),
                freed_to: (!chain.taken).then(|| words.head.load(Ordering::Relaxed)),
                credit: core.owned,
                offload: hands_off,
                reach: (u64::from(words.ahead.load(Ordering::Relaxed)) + 1) * BLOCK as u64,
            };
        }
        core.told.look(&core.cpu, &core.chains, &queued);
        queued
    }

    /// True, once, if a take-over has begun that the owner has now to complete: it was faster.
    pub(crate) fn revoked(&self, core: &mut Core) -> bool {
        std::mem::take(&mut core.revoking)
    }

    /// The engine has looked: new credit for the owner, or none where there is no owner. `waits`: the owner
    /// waits for something, and is to look again at the end of its block.
    pub(crate) fn settle(
        &self,
        core: &mut Core,
        credit: &[Credit; LANES],
        waits: bool,
        garbage: &mut Garbage,
    ) {
        let hurried = core.cpu.is_hurried();
        for (lane, credit) in credit.iter().enumerate().take(BLOCK_LANES) {
            let which = Which::ALL[lane];
            let head = core.cpu.list(which).head();
            core.chains[lane].trim(head, None, garbage);
            let words = &self.lanes[lane];
            let end = words.end.load(Ordering::Relaxed);
            let ahead = u64::from(words.ahead.load(Ordering::Relaxed)) * BLOCK as u64;
            let reach = (end_of_block(end) + ahead).min(credit.until);
            let room = core.owned && self.make_room(core, lane, reach.max(end + 1), Some(garbage));
            let chain = &mut core.chains[lane];
            if !room || credit.until == end {
                chain.cut(end, garbage); // nobody gets there
                words.next.store(ptr::null_mut(), Ordering::Relaxed);
            }
            chain.taken = !core.owned || hurried || core.hands_off || lane == CODE;
            if chain.taken {
                chain.seen = head;
                words.until.store(0, Ordering::Relaxed);
            } else {
                words.head.store(head, Ordering::Relaxed);
                words
                    .head_block
                    .store(chain.block_of(head), Ordering::Relaxed);
                words.done.store(credit.done, Ordering::Relaxed);
                let until = credit.done.min(end_of_block(head));
                words.until.store(until, Ordering::Relaxed);
            }
            let step = 1 + u64::from(credit.behind);
            words.step.store(step, Ordering::Relaxed);
            words.left.store(credit.bytes, Ordering::Relaxed);
            chain.given = credit.bytes;
            words.freed.store(head, Ordering::Relaxed);
            words.linked.store(chain.end(), Ordering::Relaxed);
            let reach = if room { reach.min(chain.end()) } else { 0 };
            let limit = reach.min(end_of_block(end));
            words
                .reach
                .store(if waits { limit } else { reach }, Ordering::Relaxed);
            words.limit.store(limit, Ordering::Relaxed);
            core.told.credit(lane, limit > end);
        }
    }

    /// The owner is to come back at its next push, whatever its credit.
    pub(crate) fn ask_soon(&self) {
        for words in &self.lanes {
            words.limit.store(0, Ordering::Relaxed);
        }
        self.lanes[CODE].prompt.store(0, Ordering::Relaxed);
    }

    /// Gives all blocks back: nothing is queued, and nobody owns the queue.
    pub(crate) fn clear(&self, core: &mut Core, garbage: &mut Garbage) {
        for (lane, chain) in core.chains.iter_mut().enumerate() {
            let words = &self.lanes[lane];
            chain.clear(garbage);
            garbage.push_all(self.spares[lane].take());
            words.block.store(prim::dummy_block(), Ordering::Relaxed);
            words.next.store(ptr::null_mut(), Ordering::Relaxed);
            words.ahead.store(0, Ordering::Relaxed);
        }
    }

    // Takers.

    /// Step 1 of a take-over. False: there is no owner, the lock is enough.
    pub(crate) fn revoke(&self, core: &mut Core) -> bool {
        if core.owned {
            core.revoking = true;
            for words in &self.lanes {
                words.limit.store(0, Ordering::Relaxed); // [RET-2] [RET-3]
            }
        }
        core.owned
    }

    /// Step 3: what is queued, all of it taken. `None`: the owner consumes again, take it once more.
    /// Blocks that were linked ahead are given back.
    pub(crate) fn take(
        &self,
        core: &mut Core,
        mut garbage: Option<&mut Garbage>,
    ) -> Option<[Queued; LANES]> {
        let heads = core.heads.report();
        let mut queued = [heads; LANES];
        let revoking = std::mem::take(&mut core.revoking);
        if core.owned && !revoking {
            // The owner came for the lock. What it had queued by then is known to the engine.
            for (queued, lane) in queued.iter_mut().zip(Which::ALL).take(BLOCK_LANES) {
                queued.end = core.cpu.list(lane).end();
                queued.bytes = 0;
                queued.credit = true;
            }
            let taken = core.chains.iter().all(|chain| chain.taken);
            return taken.then_some(queued);
        }
        for (lane, queued) in queued.iter_mut().enumerate().take(BLOCK_LANES) {
            let (words, chain) = (&self.lanes[lane], &mut core.chains[lane]);
            let mut freed_to = None;
            if !chain.taken {
                chain.taken = true;
                chain.seen = words.head.load(Ordering::Relaxed); // [RET-2]
                freed_to = Some(chain.seen);
            }
            // A push into the dummy block, for want of one of our own, does not count: its owner is on
            // the way here with the entry in hand.
            let known = core.cpu.list(Which::ALL[lane]).end();
            let room = if chain.last.is_null() {
                known
            } else {
                chain.end()
            };
            let end = words.end.load(Ordering::Acquire).min(room); // [RET-1] [RET-2]
            if let Some(garbage) = garbage.as_deref_mut() {
                chain.cut(end, garbage);
                words.linked.store(chain.end(), Ordering::Relaxed);
            }
            if end - core.cpu.list(Which::ALL[lane]).head() <= BLOCK as u64 {
                words.ahead.store(0, Ordering::Relaxed); // a quiet one
            }
            *queued = Queued {
                end,
                bytes: chain.spent(words),
                freed_to,
                ..Queued::default()
            };
        }
        core.told.look(&core.cpu, &core.chains, &queued);
        (0..BLOCK_LANES).for_each(|lane| core.told.credit(lane, false));
        Some(queued)
    }

    /// In the child of a fork: taken from an owner who is not there, or has to come back for it. The fork
    /// was the fence.
    #[cfg(not(quiescent_model))]
    pub(crate) fn forked(&self, core: &mut Core, run_code: bool) -> [Queued; LANES] {
        self.ask_soon();
        core.revoking = core.owned;
        let queued = self.take(core, None).unwrap_or_default(); // what is being revoked can be taken
        core.owned = false;
        core.offload = None;
        core.chosen = None;
        if !run_code {
            core.heads.abandon();
        }
        queued
    }

    /// Takes done entries out, as many as there are places; returns which these are.
    pub(crate) fn extract(
        &self,
        core: &mut Core,
        lane: usize,
        places: &mut [Entry],
        garbage: &mut Garbage,
    ) -> Range<Pos> {
        let chain = &mut core.chains[lane];
        if !chain.taken {
            return 0..0;
        }
        let range = core.cpu.extract(Which::ALL[lane], places.len() as u64);
        let mut block: *mut Block = ptr::null_mut();
        for (place, at) in places.iter_mut().zip(range.clone()) {
            if block.is_null() || at.is_multiple_of(BLOCK as u64) {
                block = chain.block_of(at);
            }
            // SAFETY: what is queued is in a block of the chain.
            *place = unsafe { (*block).get(at) };
        }
        core.told.extracted(&core.cpu, lane, &range, places);
        let pin = (core.owned && chain.seen > 0).then(|| chain.seen - 1);
        chain.trim(range.end, pin, garbage);
        range
    }
}

impl Core {
    /// Is the plain lane consumed by others than its owner?
    pub(crate) fn is_taken(&self) -> bool {
        self.chains[PLAIN].taken
    }

    /// Is there nothing to take: nobody pushes, and nothing is queued?
    pub(crate) fn is_idle(&self) -> bool {
        !self.owned && self.cpu.is_empty()
    }
}

mod books;
mod looks;
mod owner;
mod room;
#[cfg(all(test, not(quiescent_model)))]
mod tests;
