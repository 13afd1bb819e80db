//! Sections that are counted: the readers of an [`Srcu`](crate::Srcu).
//!
//! ```text
//!   joined ─► 0     thread 2   thread 3   …   crowd
//!   locks     [0]       7          2            0        a section adds one where it begins,
//!   unlocks   [0]       6          3            0        and one where it ends, perhaps on another thread
//! ```
//!
//! Each thread has a *tally* of its own (two counts, each with its locks and its unlocks), which nobody else writes; it is found by
//! the number of the thread's slot. So a section costs two additions, and no line that two threads write. Sums are taken by whoever drives
//! a grace period ([`quiescent_engine::indexed`]).
//!
//! * The tallies outlive their threads: the next thread with the number goes on with them.
//! * A tally that was never used has zeros; a thread's first section makes them ones, and sums leave that one out.
//! * A thread notes where its tally is of the counts that it used last: the fast path is to see that they are these, and to add. Whoever
//!   reads in several by turns looks its tally up each time. What is noted is forgotten when the thread gives its number back; the counts
//!   live for ever, so it does not dangle.
//! * Threads without a slot, and all where memory is gone, share the *crowd*'s tally, with locked instructions.
//! * In fenced mode every thread comes the slow way, where fences are.
//!
//! Not for signal handlers: a handler between the load and the store of an addition would have its own one lost.
//!
//! # Edges
//! `[SR-1]` enter: the lock's store, *light fence*, then the section. Pairs with `[GP-1]`: if a look does not see the lock, the
//! section sees every update made before the grace period. `[SR-2]` leave: the section, then the unlock's store, *release*; a look adds up
//! the unlocks first (*acquire*), then the locks. `[SR-3]` leave: the unlock's store, *light fence*, then the load of the flag. Pairs with
//! `[GP-2]`. `[SR-4]` a thread's first section: who was here is noted, *full fence*, then the section. Pairs with `[SNAP-1]`: a driver that
//! finds itself alone, and does without the fence, is seen by whoever comes later.

use std::alloc::Layout;

use quiescent_engine::indexed::{BOTH, COUNTS};
use quiescent_engine::{CpuId, Host, LeafId, Seen};

use crate::inner::gp::driven::Readers;
use crate::inner::prim::growing::place;
use crate::inner::prim::{
    self, AtomicPtr, AtomicU32, AtomicU64, Ordering, array_of, const_new, full_fence, light_fence,
};
use crate::inner::reader::threads::Slot;
use crate::inner::reader::word::FLAG_CLEAR;

/// Tallies in the first leaf; each further one has twice as many as the one before.
const FIRST: u32 = prim::FIRST_TALLIES;
/// So many leaves have room for every slot there can be.
const LEAVES: usize = prim::TALLY_LEAVES;

/// Nobody has ever been here.
const NOBODY: u32 = 0;
/// More than one thread has been here, or one without a number.
const SEVERAL: u32 = u32::MAX;

/// One thread's counts. Two cache lines of its own, since processors fetch them in pairs.
#[derive(Debug)]
#[repr(C, align(128))]
pub(crate) struct Tally {
    locks: [AtomicU64; 2],
    unlocks: [AtomicU64; 2],
}

impl Tally {
    const_new! {
        fn new() -> Tally {
            Tally {
                locks: array_of!(AtomicU64::new(0); 2),
                unlocks: array_of!(AtomicU64::new(0); 2),
            }
        }
    }

    /// Has a thread that had it made all its counts fit for use? The last of them is made so last.
    fn is_used(&self) -> bool {
        self.unlocks[1].load(Ordering::Relaxed) != 0
    }

    /// A section of its thread begins.
    #[inline(always)]
    fn enter(&self, count: usize) {
        let locks = &self.locks[count];
        locks.store(locks.load(Ordering::Relaxed) + 1, Ordering::Release);
        light_fence(); // [SR-1]
    }

    /// A section ends on its thread. The flag is to be looked at next.
    #[inline(always)]
    fn leave(&self, count: usize) {
        let unlocks = &self.unlocks[count];
        unlocks.store(unlocks.load(Ordering::Relaxed) + 1, Ordering::Release); // [SR-2]
        light_fence(); // [SR-3]
    }
}

/// All counts of an [`Srcu`](crate::Srcu).
#[derive(Debug)]
pub(crate) struct Counted {
    /// The count that new sections join.
    joined: AtomicU32,
    /// A driver waits for this count.
    flags: [AtomicU32; 2],
    /// Whose sections there have ever been: the number of the only thread, plus one.
    known: AtomicU32,
    leaves: [AtomicPtr<Tally>; LEAVES],
    crowd: Tally,
}

/// How often, of a count that begins with one when it is used first.
fn times(count: &AtomicU64, order: Ordering) -> u64 {
    count.load(order).saturating_sub(1)
}

impl Counted {
    const_new! {
        pub(crate) fn new() -> Counted {
            Counted {
                joined: AtomicU32::new(0),
                flags: array_of!(AtomicU32::new(FLAG_CLEAR); 2),
                known: AtomicU32::new(NOBODY),
                leaves: array_of!(AtomicPtr::new(std::ptr::null_mut()); LEAVES),
                crowd: Tally::new(),
            }
        }
    }

    /// The calling thread's tally, if it has come the fast way before.
    #[inline(always)]
    fn own(&self) -> Option<&Tally> {
        let reader = prim::reader();
        if std::ptr::eq(reader, prim::domain().dummy()) {
            return None;
        }
        self.tally(Slot::of(reader).cpu())
    }

    #[inline(always)]
    fn tally(&self, number: u32) -> Option<&Tally> {
        let (leaf, at) = place(number, FIRST);
        let first = self.leaves[leaf].load(Ordering::Acquire);
        // SAFETY: null, or a leaf of this size, which lives as long as the counts.
        (!first.is_null()).then(|| unsafe { &*first.add(at) })
    }

    /// The same, if the thread has noted it: if these are the counts that it had to look its tally up in last. It lives for ever, and is the
    /// thread's own: what is noted is forgotten when the thread gives its number back. (A reference's niche would cost a null check.)
    #[inline(always)]
    fn noted(&self) -> Option<*const Tally> {
        std::ptr::eq(prim::noted_counts(), self).then(prim::noted_tally)
    }

    /// Looks the calling thread's tally up, if it has come the fast way before, and notes it.
    fn look_up(&'static self) -> Option<&'static Tally> {
        let tally = self.own().filter(|tally| tally.is_used())?;
        prim::note_tally(self, tally);
        Some(tally)
    }

    /// A section begins. The count that it has joined, which it has to leave.
    #[inline(always)]
    pub(crate) fn enter(&'static self) -> usize {
        let count = self.joined.load(Ordering::Relaxed) as usize & 1;
        match self.noted() {
            // SAFETY: a tally, and those live for ever.
            Some(tally) => unsafe { &*tally }.enter(count),
            None => self.enter_anew(count),
        }
        count
    }

    /// A section ends, on whatever thread. True if a driver waits for its count.
    #[inline(always)]
    #[must_use = "a driver may be waiting"]
    pub(crate) fn leave(&'static self, count: usize) -> bool {
        let count = count & 1;
        match self.noted() {
            // SAFETY: as above.
            Some(tally) => unsafe { &*tally }.leave(count),
            None => return self.leave_anew(count),
        }
        self.flags[count].load(Ordering::Relaxed) != FLAG_CLEAR
    }

    #[inline(never)]
    fn enter_anew(&'static self, count: usize) {
        match self.look_up() {
            Some(tally) => tally.enter(count),
            None => self.enter_slowly(count),
        }
    }

    #[inline(never)]
    fn leave_anew(&'static self, count: usize) -> bool {
        match self.look_up() {
            Some(tally) => tally.leave(count),
            None => return self.leave_slowly(count),
        }
        self.flags[count].load(Ordering::Relaxed) != FLAG_CLEAR
    }

    #[cold]
    #[inline(never)]
    fn enter_slowly(&self, count: usize) {
        match self.register() {
            Some(tally) => {
                let locks = &tally.locks[count];
                locks.store(locks.load(Ordering::Relaxed) + 1, Ordering::Release);
            }
            None => {
                self.crowd.locks[count].fetch_add(1, Ordering::AcqRel);
            }
        }
        full_fence(); // [SR-4]; and [SR-1] in fenced mode
    }

    #[cold]
    #[inline(never)]
    fn leave_slowly(&self, count: usize) -> bool {
        match self.register() {
            Some(tally) => {
                let unlocks = &tally.unlocks[count];
                unlocks.store(unlocks.load(Ordering::Relaxed) + 1, Ordering::Release); // [SR-2]
            }
            None => {
                self.crowd.unlocks[count].fetch_add(1, Ordering::AcqRel); // [SR-2]
            }
        }
        full_fence(); // [SR-3] in fenced mode
        self.flags[count].load(Ordering::Relaxed) != FLAG_CLEAR
    }

    /// The calling thread's tally, made fit for use. `None`: the crowd's.
    fn register(&self) -> Option<&Tally> {
        let number = prim::domain().own_slot_or_register().map(Slot::cpu);
        let tally = number.and_then(|number| {
            self.add_leaf(place(number, FIRST).0);
            self.tally(number)
        });
        let me = match number {
            Some(number) if tally.is_some() => number + 1,
            _ => SEVERAL,
        };
        let tally = tally.unwrap_or(&self.crowd);
        for part in [&tally.locks, &tally.unlocks] {
            for count in part {
                let order = (Ordering::AcqRel, Ordering::Relaxed);
                let _ = count.compare_exchange(0, 1, order.0, order.1);
            }
        }
        let order = (Ordering::AcqRel, Ordering::Relaxed);
        let known = self.known.compare_exchange(NOBODY, me, order.0, order.1);
        if known.is_err_and(|known| known != me) {
            self.known.store(SEVERAL, Ordering::Release); // [SR-4]
        }
        (me != SEVERAL).then_some(tally)
    }

    /// Sees to it that there is this leaf, if there is memory for it.
    fn add_leaf(&self, leaf: usize) {
        let place = &self.leaves[leaf];
        if !place.load(Ordering::Acquire).is_null() {
            return;
        }
        let Ok(layout) = Layout::array::<Tally>((FIRST << leaf) as usize) else {
            return;
        };
        let new = new_leaf(layout);
        let order = (Ordering::AcqRel, Ordering::Acquire);
        if !new.is_null()
            && place
                .compare_exchange(std::ptr::null_mut(), new, order.0, order.1)
                .is_err()
        {
            // SAFETY: made above with this layout, and nobody else has seen it.
            unsafe { std::alloc::dealloc(new.cast(), layout) };
        }
    }

    /// Every tally, with the number of its thread; the crowd's without.
    fn tallies(&self) -> impl Iterator<Item = (Option<u32>, &Tally)> {
        let leaves = self.leaves.iter().zip(0u32..);
        let of_threads = leaves.flat_map(|(first, leaf)| {
            let first = first.load(Ordering::Acquire);
            let size = if first.is_null() { 0 } else { FIRST << leaf };
            let base = (FIRST << leaf) - FIRST;
            (0..size).map(move |at| {
                // SAFETY: a leaf of this size, which lives as long as the counts.
                let tally = unsafe { &*first.add(at as usize) };
                (Some(base + at), tally)
            })
        });
        of_threads.chain(std::iter::once((None, &self.crowd)))
    }

    /// Was no section in this count, at some moment of this look?
    ///
    /// The unlocks first: whoever is seen to have ended is seen to have begun. (The other way round, an end may be seen whose beginning
    /// was not, and hide a section that is open.)
    pub(crate) fn is_empty(&self, count: usize) -> bool {
        let ended = self.sum(|tally| times(&tally.unlocks[count], Ordering::Acquire)); // [SR-2]
        let begun = self.sum(|tally| times(&tally.locks[count], Ordering::Acquire));
        begun == ended
    }

    fn sum(&self, of: impl Fn(&Tally) -> u64) -> u64 {
        let each = self.tallies().map(|(_, tally)| of(tally));
        each.fold(0, u64::wrapping_add)
    }

    /// Which threads have begun more sections of this count than they have ended, and how many more; as far as one look can tell.
    pub(crate) fn begun_on(&self, count: usize) -> impl Iterator<Item = (Option<u32>, u64)> {
        self.tallies().filter_map(move |(number, tally)| {
            let ended = times(&tally.unlocks[count], Ordering::Acquire);
            let open = times(&tally.locks[count], Ordering::Acquire).saturating_sub(ended);
            (open > 0).then_some((number, open))
        })
    }

    /// Is there a section, of whatever count?
    pub(crate) fn is_inside(&self) -> bool {
        !self.is_empty(0) || !self.is_empty(1)
    }

    /// Which counts are flagged, as bits.
    pub(crate) fn flagged(&self) -> u32 {
        let set = |count: usize| u32::from(self.flags[count].load(Ordering::Acquire) != FLAG_CLEAR);
        set(0) | set(1) << 1
    }

    /// A driver that waited for this count is not to wait any more. True for one of those who say so.
    pub(crate) fn unflag(&self, count: usize) -> bool {
        self.flags[count].swap(FLAG_CLEAR, Ordering::AcqRel) != FLAG_CLEAR // [FS-1]
    }

    /// Has nobody but the calling thread ever had a section here?
    fn is_alone(&self) -> bool {
        let me = prim::domain().own_slot().map(|slot| slot.cpu() + 1);
        let known = self.known.load(Ordering::Acquire);
        known == NOBODY || Some(known) == me
    }
}

#[cfg(not(quiescent_model))]
fn new_leaf(layout: Layout) -> *mut Tally {
    // SAFETY: the layout has a size; zeros are a tally that was never used.
    unsafe { std::alloc::alloc_zeroed(layout).cast() }
}

/// A model's atomics are more than their bits.
#[cfg(quiescent_model)]
fn new_leaf(layout: Layout) -> *mut Tally {
    // SAFETY: nothing is asked of the caller but that it does not give the memory back.
    let leaf = unsafe { prim::zeroes(layout.size() / size_of::<Tally>(), Tally::new) };
    leaf.unwrap_or(std::ptr::null_mut())
}

#[cfg(not(quiescent_model))]
impl Drop for Counted {
    fn drop(&mut self) {
        for (leaf, first) in self.leaves.iter().enumerate() {
            let first = first.load(Ordering::Relaxed);
            if let Ok(layout) = Layout::array::<Tally>((FIRST << leaf) as usize)
                && !first.is_null()
            {
                // SAFETY: made by `new_leaf` with this layout; nobody has a reference to what is dropped.
                unsafe { std::alloc::dealloc(first.cast(), layout) };
            }
        }
    }
}

/// The engine's questions, answered from the counts.
#[derive(Debug)]
pub(crate) struct View<'a>(&'a Counted);

impl Host for View<'_> {
    const TRACES: bool = false;

    fn cpus(&self) -> u32 {
        COUNTS
    }

    fn observe(&self, count: CpuId) -> Seen {
        let outside = self.0.is_empty(count as usize);
        let flag = &self.0.flags[count as usize];
        if outside && flag.load(Ordering::Relaxed) != FLAG_CLEAR {
            // Nobody is left who would have to say so; and whoever joins it later is not to look for a driver.
            self.0.unflag(count as usize);
        }
        Seen { outside, stamp: 0 }
    }

    fn present(&self, _: LeafId) -> u64 {
        BOTH
    }

    fn occupied(&self, group: usize) -> u64 {
        u64::from(group == 0 && !self.0.is_alone())
    }

    fn own_quiescent(&self, _: CpuId) -> bool {
        false // whose sections they are is not known
    }
}

impl Readers for Counted {
    type View<'a> = View<'a>;

    fn view(&self) -> View<'_> {
        View(self)
    }

    fn flag(&self, count: CpuId) -> Option<&AtomicU32> {
        self.flags.get(count as usize)
    }

    fn vacated(&self, _: usize) {}

    fn join(&self, count: CpuId) {
        self.joined.store(count, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(quiescent_model)))]
mod tests;
