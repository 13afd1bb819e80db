//! A thread's queue: its lanes, and the data that its lock protects.
//!
//! The owner works on the lanes' words without the lock ([`lane`](crate::queue::lane)). Everything else (the
//! chains of blocks, the engine's cut positions, the consumer) is protected by the lock, which the owner
//! takes once per batch and other threads when necessary: a worker, a barrier, an exit. A queue belongs to a
//! *slot*: it outlives its thread, and the next thread with that slot inherits what is queued.
//!
//! # Consumers
//! | lane | is | consumed by |
//! |---|---|---|
//! | [`PLAIN`] | memory | its owner, by popping; or the holder of the lock |
//! | [`OWN`] | code that its owner runs, two entries a push at most | the same |
//! | [`CODE`] | code that workers run | the holder of the lock, one entry at a time, or some in a drain |
//!
//! A flag of each lane says which. The owner stops consuming only by its own action (in
//! [`settle`](Queue::settle)) or by a *take-over*:
//!
//! | step | taker | what the owner may do meanwhile |
//! |---|---|---|
//! | 1 | lock: limits to 0, `revoking` | push and pop once more, then take the lock |
//! | 2 | heavy fence `[RET-2]`, no lock held | the same |
//! | 3 | lock; if `revoking`: takes head to end, `seen` = head | the same; pops at or after `seen` fail |
//!
//! An owner undoes a failed pop under the lock. One that gets the lock between 1 and 3 knows its ends
//! exactly, and does step 3 itself.
//!
//! # Invariants
//! * `block` of a lane contains the position `end`: it is linked before `end` gets there. When memory is
//!   exhausted, the lane gets the dummy's block and limit 0, and the next push detects it.
//! * Blocks leave a chain from its front, under the lock. While others consume, the block of the position
//!   before `seen` stays, and so do the last one and all from that of `end` on: the owner may still access
//!   them, or move there.
//! * Blocks behind that of `end` are removed when no owner can be moving there: in step 3, behind the fence
//!   (an owner moves on by raising its limit, which fails `[RET-3]`), or by the owner under the lock.
//! * No memory is allocated or freed under the lock: spare blocks are allocated before, empty ones are freed
//!   after ([`Garbage`]).

use std::alloc::{Layout, alloc};
use std::ops::Range;
use std::ptr::{self, NonNull};
use std::sync::PoisonError;
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

use quiescent_engine::Pos;
use quiescent_engine::budget::Held;
use quiescent_engine::cpu::{Cpu, LANES, Lane};
use quiescent_engine::credit::{Cause, Credit, Queued, Urgency};
use quiescent_engine::owner::blocks_of;

use crate::prim::fixed::Fixed;
use crate::prim::linked::{Linked, List, OfSlot};
use crate::prim::{AtomicPtr, BLOCK, FEW_OWED, Mutex, MutexGuard, Ordering};
use crate::queue::block::Block;
use crate::queue::chain::{Chain, Garbage, Spares, end_of_block};
use crate::queue::common::Common;
use crate::queue::intrusive::{Head, Heads, RunHead};
use crate::queue::kind::{BLOCK_LANES, CODE, HEAD, OWN, PLAIN};
use crate::queue::lane::{Entry, LaneWords, MOST_RUN, Popped};
use crate::queue::look::Look;
use crate::queue::meter::{Cursor, Meter};
use crate::queue::parcel::{Callback, Parcel};

/// A destructor that its owner has been seen in for so long (nanoseconds) is reported.
pub const STUCK_NS: u64 = 1_000_000_000;

/// [`Queue::owed`] of an owner that owes nothing.
pub const NOTHING_OWED: i32 = -(FEW_OWED as i32);

/// A queue.
#[derive(Debug)]
#[repr(C)]
pub struct Queue {
    pub lanes: [LaneWords; BLOCK_LANES],
    /// Spare blocks for each lane.
    spares: [Spares; BLOCK_LANES],
    /// The largest value of each lane's `ahead`: a batch's worth. (Not for the models: it is a size only.)
    most_ahead: [std::sync::atomic::AtomicU32; BLOCK_LANES],
    /// The end of the last block when the engine was last called.
    linked: [std::sync::atomic::AtomicU64; BLOCK_LANES],
    core: Mutex<QueueCore>,
    /// The guard of its lock while this process forks.
    pub parked: crate::prim::parked::Parked<QueueCore>,
    /// The queues of threads that were created before this one in its domain; behind a domain's shared one,
    /// all of them. Leak checkers find queues through this list too, since they do not scan all slots.
    pub others: List<Queue>,
    /// The queues of the same slot in other domains, created before this one.
    of_slot: List<Queue, OfSlot>,
    /// How its owner looks at the memory of the process.
    pub look: Look,
    /// Destructors that its owner is to run when its sections are over, less [`FEW_OWED`]: from 0 on they are
    /// worth the slow path of an unlock. Only the owner changes these two.
    pub owed: AtomicI32,
    /// The next queue out of which its owner is to run some.
    pub next_owing: std::sync::atomic::AtomicPtr<Queue>,
    pub common: Fixed<Common>,
    /// The state of its domain, whose type this layer does not know.
    pub state: Fixed<()>,
    /// The cell in which its owner finds it in a domain of the program, while it is attached; null for the
    /// process's.
    found_at: AtomicPtr<AtomicPtr<Queue>>,
}

impl Linked for Queue {
    fn rest(&self) -> &List<Queue> {
        &self.others
    }
}

impl Linked<OfSlot> for Queue {
    fn rest(&self) -> &List<Queue, OfSlot> {
        &self.of_slot
    }
}

/// Where the threads of a slot find their queue in a domain.
#[derive(Debug)]
pub struct QueuePlace {
    /// The queue; created when the first of them queues something.
    made: AtomicPtr<Queue>,
    /// The same, while a thread pushes to it without the lock. Unused in the process's domain.
    attached: AtomicPtr<Queue>,
}

impl QueuePlace {
    const_new! {
        pub fn new() -> QueuePlace {
            QueuePlace {
                made: AtomicPtr::new(ptr::null_mut()),
                attached: AtomicPtr::new(ptr::null_mut()),
            }
        }
    }

    /// The queue, if any of the threads has ever queued something.
    pub fn queue(&self) -> Option<&'static Queue> {
        // SAFETY: null, or a queue; queues live forever.
        unsafe { self.made.load(Ordering::Acquire).as_ref() }
    }

    /// Publishes the queue.
    pub fn set(&self, queue: &'static Queue) {
        let queue = ptr::from_ref(queue).cast_mut();
        self.made.store(queue, Ordering::Release);
    }

    /// The queue to which the calling thread, one of the slot, pushes without a lock. (The niche of a
    /// reference would cost a null check.)
    #[inline(always)]
    pub fn attached(&self) -> *const Queue {
        self.attached.load(Ordering::Relaxed)
    }

    /// In the child of a fork: no thread is attached, and a queue that `keep` rejects is forgotten.
    #[cfg(feature = "fork")]
    pub fn forked(&self, keep: impl Fn(&Queue) -> bool) {
        if self.queue().is_some_and(|queue| !keep(queue)) {
            self.made.store(ptr::null_mut(), Ordering::Release);
        }
        self.attached.store(ptr::null_mut(), Ordering::Relaxed);
    }
}

/// The data that the lock protects.
#[derive(Debug)]
pub struct QueueCore {
    /// The engine's part of the queue.
    pub cpu: Cpu,
    chains: [Chain; BLOCK_LANES],
    pub heads: Heads,
    /// The telemetry cursor.
    pub cursor: Cursor,
    /// A thread, the owner, works on the lanes' words without the lock, as far as it has credit.
    pub owned: bool,
    /// A take-over has begun.
    revoking: bool,
    /// The cause for which the sweep in progress chose this queue.
    pub chosen: Option<Cause>,
    /// Whether other threads reclaim, if the owner has set it.
    pub offload: Option<bool>,
    /// The owner does not reclaim, as of the last report.
    pub hands_off: bool,
    /// Workers run all code of the domain, as of the last report.
    pub workers_run: bool,
    /// What the owner was running when a taker came, until it reports.
    out: Range<Pos>,
    /// When a taker found them (of the coarse clock, in nanoseconds); 0: they were reported as not returned.
    out_since: u64,
}

// SAFETY: the blocks are dereferenced under the queue's lock, or by the owner as the module comment
// describes.
unsafe impl Send for QueueCore {}

impl Queue {
    const_new! {
        /// An empty queue of slot `cpu`.
        ///
        /// # Safety
        /// `common` lives forever, and so does `state`, which is the state of a domain.
        pub unsafe fn new(
            cpu: u32,
            common: *const Common,
            state: *const (),
            nothing: &'static Block,
        ) -> Queue {
            let dummy = ptr::from_ref(nothing).cast_mut();
            Queue {
                lanes: [LaneWords::new(dummy), LaneWords::new(dummy), LaneWords::new(dummy)],
                spares: array_of!(Spares::new(); BLOCK_LANES),
                most_ahead: [const { std::sync::atomic::AtomicU32::new(1) }; BLOCK_LANES],
                linked: [const { std::sync::atomic::AtomicU64::new(0) }; BLOCK_LANES],
                core: Mutex::new(QueueCore {
                    cpu: Cpu::new(cpu),
                    chains: [const { Chain::new() }; BLOCK_LANES],
                    heads: Heads::new(),
                    cursor: Cursor::new(),
                    owned: false,
                    revoking: false,
                    chosen: None,
                    offload: None,
                    hands_off: false,
                    workers_run: false,
                    out: 0..0,
                    out_since: 0,
                }),
                parked: crate::prim::parked::Parked::new(),
                others: List::new(),
                of_slot: List::new(),
                look: Look::new(),
                owed: AtomicI32::new(NOTHING_OWED),
                next_owing: std::sync::atomic::AtomicPtr::new(ptr::null_mut()),
                // SAFETY: the caller's promise.
                common: unsafe { Fixed::new(common) },
                // SAFETY: the caller's promise.
                state: unsafe { Fixed::new(state) },
                found_at: AtomicPtr::new(ptr::null_mut()),
            }
        }
    }

    /// Sets the place at which its thread finds it: it belongs to a domain of the program. The queue is not
    /// published yet.
    pub fn set_found_at(&self, place: &'static QueuePlace) {
        let place = ptr::from_ref(&place.attached).cast_mut();
        self.found_at.store(place, Ordering::Relaxed);
    }

    /// A queue that lives forever; `None` without memory.
    ///
    /// # Safety
    /// `state` is the state of a domain, and lives forever.
    pub unsafe fn leak(
        cpu: u32,
        common: &'static Common,
        state: *const (),
    ) -> Option<&'static Queue> {
        // SAFETY: the layout has a size.
        let place: *mut Queue = unsafe { alloc(Layout::new::<Queue>()) }.cast();
        if place.is_null() {
            return None;
        }
        // SAFETY: fresh memory of that layout, never freed; and the caller's promise.
        unsafe {
            place.write(Queue::new(cpu, common, state, common.nothing));
            #[cfg(quiescent_model)]
            return Some(crate::prim::keep(Box::from_raw(place)));
            #[cfg(not(quiescent_model))]
            Some(&*place)
        }
    }

    pub fn lock(&self) -> MutexGuard<'_, QueueCore> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the lock, if it is free.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, QueueCore>> {
        self.core.try_lock().ok()
    }

    /// Puts an entry at the end, under the lock. The caller is the owner, or there is none. False: no memory
    /// for it.
    pub fn put(&self, core: &mut QueueCore, lane: usize, entry: Entry, bytes: u64) -> bool {
        let words = &self.lanes[lane];
        let end = words.end.load(Ordering::Relaxed);
        if !self.make_room(core, lane, end + 1, None) {
            return false;
        }
        let block = words.block.load(Ordering::Relaxed);
        // SAFETY: room was made: the block contains `end`.
        unsafe { (*block).put(end, entry) };
        let left = words.left.load(Ordering::Relaxed);
        words
            .left
            .store(left.wrapping_sub(bytes), Ordering::Relaxed);
        words.end.store(end + 1, Ordering::Release); // [RET-1]
        true
    }

    /// True if the popped entries are the owner's. If not, they were taken over before.
    fn keeps(&self, core: &QueueCore, lane: usize, popped: Popped) -> bool {
        let chain = &core.chains[lane];
        let kept = popped.count > 0 && !(chain.taken && popped.at >= chain.seen);
        if lane == OWN && popped.count > 0 && !kept {
            self.lanes[OWN].end_running(); // it never began
        }
        kept
    }

    /// The owner pops as many of its own done entries as there are places; returns how many. It runs them
    /// next. Without the lock, unless the limit is reached.
    pub fn pop_owed(&self, places: &mut [Entry]) -> usize {
        debug_assert!(places.len() <= MOST_RUN);
        let words = &self.lanes[OWN];
        let (popped, is_own) = words.pop_only(places.len() as u64);
        if !is_own && !self.keeps(&self.lock(), OWN, popped) {
            return 0;
        }
        words.copy_popped(popped, places)
    }

    /// The popped entries that are the owner's: all of them, unless they were taken over before.
    pub fn keep(&self, core: &QueueCore, lane: usize, popped: Popped) -> [Option<Entry>; 2] {
        let kept = self.keeps(core, lane, popped);
        std::array::from_fn(|n| {
            let at = popped.at + n as u64;
            (kept && (n as u64) < popped.count).then(|| self.lanes[lane].popped(at))
        })
    }

    /// What the owner has done since the last report, for the engine; and whether it reclaims.
    pub fn report(&self, core: &mut QueueCore, hands_off: bool) -> [Queued; LANES] {
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
                grown: lane == OWN && self.look.has_grown(),
                owes: lane == OWN && self.owed.load(Relaxed) >= 0,
                offload: hands_off || (lane == OWN && core.workers_run),
                reach: (u64::from(words.ahead.load(Ordering::Relaxed)) + 1) * BLOCK as u64,
                running: 0,
            };
        }
        (core.cursor).update(self.meter(), &core.cpu, &core.chains, &queued);
        queued
    }

    /// True, once, if a take-over has begun that the owner has to complete now, because it took the lock
    /// first.
    pub fn revoked(&self, core: &mut QueueCore) -> bool {
        std::mem::take(&mut core.revoking)
    }

    /// Applies the engine's answer: new credit for the owner, or none if there is no owner. `waits`: the
    /// owner waits for something, and has to call the engine at the end of its block.
    pub fn settle(
        &self,
        core: &mut QueueCore,
        credit: &[Credit; LANES],
        waits: bool,
        garbage: &mut Garbage,
    ) {
        let consumes = core.owned && !core.cpu.is_hurried() && !core.hands_off;
        self.look.set_gone(core.cpu.list(Lane::Own).head());
        for (lane, credit) in credit.iter().enumerate().take(BLOCK_LANES) {
            let which = Lane::ALL[lane];
            let head = core.cpu.list(which).head();
            core.chains[lane].trim(head, None, garbage);
            let words = &self.lanes[lane];
            let end = words.end.load(Ordering::Relaxed);
            let most = blocks_of(credit.batch, BLOCK);
            self.most_ahead[lane].store(most, std::sync::atomic::Ordering::Relaxed);
            let mut ahead = words.ahead.load(Ordering::Relaxed);
            if ahead > most {
                ahead = most;
                words.ahead.store(ahead, Ordering::Relaxed);
            }
            let reach = (end_of_block(end) + u64::from(ahead) * BLOCK as u64).min(credit.until);
            let room = core.owned && self.make_room(core, lane, reach.max(end + 1), Some(garbage));
            let chain = &mut core.chains[lane];
            if !room || credit.until == end {
                chain.cut(end, garbage); // no owner moves there
                self.spares[lane].trim(1, garbage);
                words.next.store(ptr::null_mut(), Ordering::Relaxed);
            }
            chain.taken = !match lane {
                PLAIN => consumes,
                OWN => core.cpu.owner_runs(),
                _ => false,
            };
            let step = 1 + u32::from(credit.behind);
            if chain.taken {
                chain.seen = head;
                words.set_until(0, step);
            } else {
                words.head.store(head, Ordering::Relaxed);
                words
                    .head_block
                    .store(chain.block_of(head), Ordering::Relaxed);
                words.done.store(credit.done, Ordering::Relaxed);
                let until = credit.done.min(end_of_block(head));
                words.set_until(until, step);
            }
            words.left.store(credit.bytes, Ordering::Relaxed);
            chain.given = credit.bytes;
            words.freed.store(head, Ordering::Relaxed);
            self.linked[lane].store(chain.end(), std::sync::atomic::Ordering::Relaxed);
            let reach = if room { reach.min(chain.end()) } else { 0 };
            let block = reach.min(end_of_block(end));
            let limit = block.min(end + self.most_to_stop(lane));
            words
                .reach
                .store(if waits { block } else { reach }, Ordering::Relaxed);
            words.limit.store(limit, Ordering::Relaxed);
            core.cursor.credit(self.meter(), lane, limit > end);
        }
    }

    /// Entries of a lane up to the next stop. (Models have none: their blocks are as short.)
    pub fn most_to_stop(&self, lane: usize) -> u64 {
        match lane == OWN && cfg!(not(quiescent_model)) {
            true => self.look.stride(),
            false => BLOCK as u64,
        }
    }

    /// Makes the owner take the lock at its next push. (Its new credit may overwrite this.)
    pub fn lower_limits(&self) {
        for words in &self.lanes {
            words.limit.store(0, Ordering::Relaxed);
        }
    }

    /// Makes the owner take the lock at its next push, whatever its credit.
    #[inline]
    pub fn ask_soon(&self) {
        self.lower_limits();
        self.lanes[CODE].prompt.store(0, Ordering::Relaxed);
    }

    /// Removes all blocks: nothing is queued, and the queue has no owner.
    pub fn clear(&self, core: &mut QueueCore, garbage: &mut Garbage) {
        for (lane, chain) in core.chains.iter_mut().enumerate() {
            let words = &self.lanes[lane];
            chain.clear(garbage);
            self.spares[lane].trim(0, garbage);
            words.block.store(self.nothing(), Ordering::Relaxed);
            words.next.store(ptr::null_mut(), Ordering::Relaxed);
            words.ahead.store(0, Ordering::Relaxed);
        }
    }

    /// What the owner has pushed since the last report: an estimate, since it may be pushing now.
    pub fn unreported(&self, core: &QueueCore) -> Held {
        let mut all = Held::default();
        for ((words, chain), lane) in self.lanes.iter().zip(&core.chains).zip(Lane::ALL) {
            let end = words.end.load(Ordering::Relaxed);
            all.count += end.saturating_sub(core.cpu.list(lane).end());
            all.bytes += chain.given.wrapping_sub(words.left.load(Ordering::Relaxed));
        }
        all
    }

    // The lane of code that its owner runs, under the lock: the owner pops entries, and takers find out which
    // it is running.

    /// Pops up to two entries of code that the caller, the owner, then runs. No taker can claim them, because
    /// the caller holds the lock.
    #[inline(never)]
    pub fn pop_own(&self, core: &QueueCore) -> [Option<Entry>; 2] {
        let words = &self.lanes[OWN];
        let mut places = [Entry::NONE; 2];
        let at = words.head.load(Ordering::Relaxed);
        let count = match core.chains[OWN].taken {
            true => 0,
            false => words.pop_many(&mut places),
        };
        if count > 0 {
            words.set_running(at, count as u64);
        }
        std::array::from_fn(|n| (n < count).then_some(places[n]))
    }

    /// The owner was asked for a report, and has run the entries that a taker found it running: returns them,
    /// once. While a take-over is in progress `asks` stays set, because that take-over may still find the
    /// entries which the owner runs next.
    pub fn answer(&self, core: &mut QueueCore) -> Range<Pos> {
        let asks = u32::from(core.revoking);
        self.lanes[OWN].asks.store(asks, Ordering::Relaxed);
        std::mem::replace(&mut core.out, 0..0)
    }

    /// The number of entries that the owner has popped and is running. From now on they count as out, and the
    /// owner reports them when it finds `asks`. Entries whose pop the owner is about to undo do not count,
    /// nor do those that an earlier call has found. `[RUN-1]`
    fn found_running(&self, core: &mut QueueCore) -> u64 {
        let running = self.lanes[OWN].running();
        if !core.out.is_empty() || running.start >= core.chains[OWN].seen {
            return 0;
        }
        core.out = running.clone();
        core.out_since = crate::prim::coarse_ns();
        running.end - running.start
    }

    /// The owner still runs what a taker has found it running: the time of that. None once it was reported.
    #[cfg(feature = "helpers")]
    pub fn stays_since(&self, core: &QueueCore) -> Option<u64> {
        let stays = !core.out.is_empty() && self.lanes[OWN].running() == core.out;
        (stays && core.out_since != 0).then_some(core.out_since)
    }

    /// When that is to be looked at again.
    pub fn next_look(&self, core: &QueueCore) -> Option<u64> {
        #[cfg(feature = "helpers")]
        return self
            .stays_since(core)
            .map(|since| since.saturating_add(STUCK_NS));
        #[cfg(not(feature = "helpers"))]
        {
            let _ = core;
            None
        }
    }

    /// The same is about to be reported, once: the first of what the owner runs. None if its block has left
    /// the chain: what runs may have retired something.
    #[cfg(feature = "helpers")]
    pub fn report_stay(&self, core: &mut QueueCore) -> Option<Entry> {
        core.out_since = 0;
        let block = core.chains[OWN].holder_of(core.out.start)?;
        // SAFETY: a block of the chain that contains this position, where an entry was queued.
        Some(unsafe { (*block).get(core.out.start) })
    }

    /// The cell in which its owner finds it without a lock; none for a queue of the process's domain, whose
    /// address is in the thread's local.
    pub fn found_at(&self) -> Option<&'static AtomicPtr<Queue>> {
        // SAFETY: null, or a cell in a reader record; records live forever.
        unsafe { self.found_at.load(Ordering::Relaxed).as_ref() }
    }

    /// The meter of what is queued.
    pub fn meter(&self) -> &'static Meter {
        &self.common.get().meter
    }

    /// The dummy's block, whose content is unused.
    pub fn nothing(&self) -> *mut Block {
        ptr::from_ref(self.common.get().nothing).cast_mut()
    }

    /// True for the queue of threads that have none.
    #[inline]
    pub fn is_dummy(&self) -> bool {
        // SAFETY: an address inside what lives forever; nothing is read.
        ptr::eq(self, unsafe { &raw const (*self.common.place()).dummy })
    }

    /// Number of entries pushed so far.
    pub fn pushed(&self) -> u64 {
        let ends = self.lanes.iter();
        ends.map(|words| words.end.load(Ordering::Relaxed)).sum()
    }

    /// True if the last push went to the dummy block, for lack of memory: it has to be undone, and the caller
    /// still has its entry.
    pub fn is_starved(&self, lane: usize) -> bool {
        ptr::eq(
            self.lanes[lane].block.load(Ordering::Relaxed),
            self.nothing(),
        )
    }

    /// Undoes the last push, which went to the dummy block.
    pub fn unpush(&self, lane: usize, bytes: u64) {
        let words = &self.lanes[lane];
        let end = words.end.load(Ordering::Relaxed);
        words.end.store(end - 1, Ordering::Release);
        let left = words.left.load(Ordering::Relaxed);
        words
            .left
            .store(left.wrapping_add(bytes), Ordering::Relaxed);
    }
}

impl QueueCore {
    /// True if other threads consume the plain lane, not its owner.
    pub fn is_taken(&self) -> bool {
        self.chains[PLAIN].taken
    }

    /// True if there is nothing to take: no owner pushes, and nothing is queued.
    pub fn is_idle(&self) -> bool {
        !self.owned && self.cpu.is_empty()
    }

    /// Appends an intrusive callback.
    ///
    /// # Safety
    /// As [`Heads::push`](crate::queue::intrusive::Heads::push).
    pub unsafe fn push_head(&mut self, meter: &Meter, head: NonNull<Head>, run: RunHead) {
        // SAFETY: the caller's promise.
        unsafe { self.heads.push(head, run) };
        self.cursor
            .head_pushed(meter, &self.cpu, run, self.heads.end());
    }

    /// Takes the oldest intrusive callback out, if it is done.
    pub fn extract_head(&mut self, meter: &Meter) -> Option<(NonNull<Head>, RunHead, Range<Pos>)> {
        let range = self.cpu.extract(Lane::Head, 1);
        if range.is_empty() {
            return None;
        }
        let (head, run) = self.heads.pop()?;
        let what = |_| run as usize as u64;
        self.cursor.extracted(meter, &self.cpu, HEAD, &range, what);
        Some((head, run, range))
    }

    /// Called before a parcel is queued: counts it if it wakes the worker and so ends the laziness of other
    /// callbacks.
    pub fn note_urgency(&mut self, meter: &Meter, parcel: &Parcel, urgency: Urgency) {
        let breaks = match urgency {
            Urgency::Hurry => true,
            Urgency::Prompt => !self.cpu.is_prompt(),
            Urgency::Lazy => false,
        };
        if breaks {
            let (lane, what) = match *parcel {
                Parcel::Entry(lane, entry, _) => (lane, entry.what),
                Parcel::Head(Callback { run, .. }) => (HEAD, run as usize as u64),
            };
            self.cursor.broke(meter, &self.cpu, lane, what, urgency);
        }
    }
}

mod room;
mod takers;
#[cfg(all(test, not(quiescent_model)))]
mod tests;
