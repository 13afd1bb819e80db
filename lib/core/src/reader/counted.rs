//! Counted sections: the readers of an `Srcu`.
//!
//! ```text
//!   joined ─► 0          thread 2   thread 3   …   unregistered
//!   here: locks     [0]      4          1            0      a section adds 1 where it begins,
//!         unlocks   [0]      4          0            0      and 1 where it ends: on the same thread
//!   sent: locks     [0]      3          1            0
//!         unlocks   [0]      2          2            0      perhaps on another thread
//! ```
//!
//! Each thread has its own *tally*, which no other thread writes; it is found by the number of the thread's
//! slot. So a section costs two additions, and no cache line is written by two threads. The driver of a grace
//! period computes the sums ([`quiescent_engine::indexed`]), and does not distinguish the two kinds.
//!
//! * Sections *here* have a guard that cannot leave its thread. The guard knows the tally, and the tally
//!   knows how many of them are open, at any time. Their thread keeps its slot while one is open
//!   ([`Slot::tallies`]), so that no other thread continues the tally.
//! * Sections that are *sent* may end on any thread. Only the sum over all tallies says how many are open.
//! * The tallies outlive their threads: the next thread with the number continues them.
//! * A tally that was never used contains zeros; a thread's first section sets its counts to 1, and sums
//!   subtract that.
//! * A thread notes the address of its tally in the counts that it used last: the fast path compares and
//!   adds. A thread that alternates between several `Srcu` looks its tally up each time. The note is cleared
//!   when the thread releases its number; the counts live forever, so it does not dangle.
//! * Threads without a slot, and all threads when memory is exhausted, share the tally of the *unregistered
//!   readers*, with locked instructions.
//! * In fenced mode every thread takes the slow path, which contains the fences.
//!
//! Not for signal handlers: a handler that runs between the load and the store of an addition would lose its
//! own addition.
//!
//! In the child of a fork sections here of other threads have ended, and sections that were sent stay open:
//! see `forks.rs`.
//!
//! # Edges
//! `[SR-1]` enter: the lock's store, *light fence*, then the section. Pairs with `[GP-1]`: if a scan does not
//! see the lock, the section sees every update made before the grace period. `[SR-2]` leave: the section,
//! then the unlock's store, *release*; a scan adds up the unlocks first (*acquire*), then the locks. `[SR-3]`
//! leave: the unlock's store, *light fence*, then the load of the flag. Pairs with `[GP-2]`. `[SR-4]` a
//! thread's first section: its number is noted in `known`, *full fence*, then the section. Pairs with
//! `[SNAP-1]`: if a driver finds itself the only reader, and omits the fence, every later reader sees that
//! driver's updates.

pub use forks::Origin;

use std::ptr::NonNull;

use quiescent_engine::CpuId;

use crate::prim::growing::Growing;
use crate::prim::{AtomicU32, AtomicU64, FIRST_TALLIES, Ordering, TALLY_LEAVES, full_fence};
use crate::reader::local::Local;
use crate::reader::registration::Threads;
use crate::reader::tally::{SectionCounts, Tally};
use crate::reader::threads::Slot;
use crate::reader::word::FLAG_CLEAR;

mod forks;

/// No thread has ever had a section.
const NO_THREAD: u32 = 0;
/// More than one thread has had a section, or one without a number.
const SEVERAL: u32 = u32::MAX;

/// A section is left by its slow path: added to its `count`.
const SLOWLY: usize = 2;

/// An open section that ends on its thread: where it is counted.
///
/// One word: the address of a tally, which lives forever, and in its low bits the count that it has joined;
/// and `SLOWLY`, if its thread executes fences or has no tally of its own.
#[derive(Clone, Copy, Debug)]
pub struct Entered(NonNull<()>);

const _: () = assert!(align_of::<Tally>() >= 2 * SLOWLY);

impl Entered {
    /// A section begins on the thread that has this tally, and executes no fences.
    #[inline(always)]
    pub fn on(tally: &'static Tally, count: usize) -> Entered {
        tally.here.enter(count);
        Entered::new(tally, count)
    }

    #[inline(always)]
    fn new(tally: &'static Tally, count: usize) -> Entered {
        Entered(NonNull::from(tally).map_addr(|at| at | count).cast())
    }

    /// The word.
    #[inline(always)]
    pub fn word(self) -> NonNull<()> {
        self.0
    }

    /// # Safety
    /// The word of an open section.
    #[inline(always)]
    pub unsafe fn of(word: NonNull<()>) -> Entered {
        Entered(word)
    }

    /// The low bits.
    #[inline(always)]
    fn bits(self) -> usize {
        self.0.addr().get() % (2 * SLOWLY)
    }

    #[inline(always)]
    fn tally(self) -> &'static Tally {
        let tally = self.0.as_ptr().map_addr(|at| at - self.bits());
        // SAFETY: made from such a reference.
        unsafe { &*tally.cast() }
    }

    /// The count that it has joined.
    #[inline(always)]
    pub fn count(self) -> usize {
        self.bits() & 1
    }

    /// The section ends. Returns the count that it leaves, whose flag the caller loads next; `None`: call
    /// [`leave_here_slowly`](Counted::leave_here_slowly) instead.
    #[inline(always)]
    pub fn leave(self) -> Option<usize> {
        if self.bits() >= SLOWLY {
            return None;
        }
        self.tally().here.leave(self.count());
        Some(self.count())
    }
}

/// All counts of an `Srcu`. Part of a domain, so nothing frees their leaves.
#[derive(Debug)]
pub struct Counted {
    /// The count that new sections join.
    joined: AtomicU32,
    /// A driver waits for this count.
    flags: [AtomicU32; 2],
    /// The threads that have ever had a section: the number of the only thread plus one, [`NO_THREAD`] or
    /// [`SEVERAL`].
    known: AtomicU32,
    /// Those of threads, by the numbers of their slots.
    of_threads: Growing<Tally, { FIRST_TALLIES }, { TALLY_LEAVES }>,
    unregistered: Tally,
    /// Those among the sections `sent` of the unregistered readers that were open on other threads when this
    /// process was forked. For reports only.
    inherited: [AtomicU64; 2],
}

impl Counted {
    const_new! {
        pub fn new() -> Counted {
            Counted {
                joined: AtomicU32::new(0),
                flags: array_of!(AtomicU32::new(FLAG_CLEAR); 2),
                known: AtomicU32::new(NO_THREAD),
                of_threads: Growing::new(),
                unregistered: Tally::new(),
                inherited: array_of!(AtomicU64::new(0); 2),
            }
        }
    }

    /// The calling thread's tally, if it is registered and not in fenced mode.
    #[inline(always)]
    fn own(&self, local: &Local, threads: &'static Threads) -> Option<&Tally> {
        let reader = local.reader();
        if threads.is_dummy(reader) || reader.is_fenced() {
            return None;
        }
        // SAFETY: a local has the dummy, or the word of its slot.
        self.of_slot_if_any(unsafe { Slot::of(reader) }.cpu())
    }

    /// Looks the calling thread's tally up, if the thread has used it before, and notes it.
    fn look_up(&'static self, local: &Local, threads: &'static Threads) -> Option<&'static Tally> {
        let tally = self.own(local, threads).filter(|tally| tally.is_used())?;
        self.note(local, threads, tally);
        Some(tally)
    }

    /// Notes the calling thread's tally, and that the thread has sections without a record.
    fn note(&'static self, local: &Local, threads: &'static Threads, tally: &'static Tally) {
        local.note_elsewhere(&threads.elsewhere);
        local.note_tally(self, tally);
    }

    /// The count that new sections join.
    #[inline(always)]
    pub fn joined(&self) -> usize {
        self.joined.load(Ordering::Relaxed) as usize & 1
    }

    /// True if a driver waits for this count.
    #[inline(always)]
    pub fn is_flagged(&self, count: usize) -> bool {
        self.flags[count & 1].load(Ordering::Relaxed) != FLAG_CLEAR
    }

    /// A section here joins this count, on a thread that has noted another tally, or none.
    #[inline(never)]
    pub fn enter_here_anew(
        &'static self,
        count: usize,
        local: &Local,
        threads: &'static Threads,
    ) -> Entered {
        match self.look_up(local, threads) {
            Some(tally) => Entered::on(tally, count),
            None => self.enter_here_slowly(count, local, threads),
        }
    }

    #[cold]
    #[inline(never)]
    fn enter_here_slowly(
        &'static self,
        count: usize,
        local: &Local,
        threads: &'static Threads,
    ) -> Entered {
        let Some(tally) = self.enter_slowly(|tally| &tally.here, count, local, threads) else {
            local.note_elsewhere(&threads.elsewhere);
            local.counted.enter();
            return Entered::new(&self.unregistered, count + SLOWLY);
        };
        if local.reader().is_fenced() {
            return Entered::new(tally, count + SLOWLY);
        }
        self.note(local, threads, tally);
        Entered::new(tally, count)
    }

    /// A section here ends, for which [`Entered::leave`] returned `None`. True if a driver waits for its
    /// count.
    #[cold]
    #[inline(never)]
    #[must_use = "a driver may be waiting"]
    pub fn leave_here_slowly(&self, section: Entered, local: &Local) -> bool {
        let (tally, count) = (section.tally(), section.count());
        let own = (!std::ptr::eq(tally, &self.unregistered)).then_some(tally);
        if own.is_none() {
            local.counted.leave();
        }
        self.leave_slowly(own, |tally| &tally.here, count)
    }

    /// A section that may be sent joins this count, on a thread that has noted another tally, or none.
    #[inline(never)]
    pub fn enter_anew(&'static self, count: usize, local: &Local, threads: &'static Threads) {
        match self.look_up(local, threads) {
            Some(tally) => tally.sent.enter(count),
            None => {
                self.enter_slowly(|tally| &tally.sent, count, local, threads);
            }
        }
    }

    /// Such a section ends on such a thread. True if a driver waits for the count.
    #[inline(never)]
    #[must_use = "a driver may be waiting"]
    pub fn leave_anew(
        &'static self,
        count: usize,
        local: &Local,
        threads: &'static Threads,
    ) -> bool {
        match self.look_up(local, threads) {
            Some(tally) => tally.sent.leave(count),
            None => {
                let own = self.register(local, threads);
                return self.leave_slowly(own, |tally| &tally.sent, count);
            }
        }
        self.flags[count].load(Ordering::Relaxed) != FLAG_CLEAR
    }

    /// A section of one kind begins on a thread that has not used its tally before, or executes fences. Its
    /// tally; `None`: the section is counted among those of the unregistered readers.
    #[cold]
    fn enter_slowly(
        &'static self,
        kind: impl Fn(&Tally) -> &SectionCounts,
        count: usize,
        local: &Local,
        threads: &'static Threads,
    ) -> Option<&'static Tally> {
        let own = self.register(local, threads);
        match own {
            Some(tally) => kind(tally).add_lock(count),
            None => {
                kind(&self.unregistered).locks[count].fetch_add(1, Ordering::AcqRel);
            }
        }
        full_fence(); // [SR-4]; and [SR-1] in fenced mode
        own
    }

    /// The same for the end of a section, which is counted by this tally.
    #[cold]
    fn leave_slowly(
        &self,
        own: Option<&Tally>,
        kind: impl Fn(&Tally) -> &SectionCounts,
        count: usize,
    ) -> bool {
        match own {
            Some(tally) => kind(tally).add_unlock(count),
            None => {
                kind(&self.unregistered).unlocks[count].fetch_add(1, Ordering::AcqRel); // [SR-2]
            }
        }
        full_fence(); // [SR-3] in fenced mode
        self.is_flagged(count)
    }

    /// The calling thread's tally, initialized. `None`: the unregistered readers' tally is to be used.
    fn register(&'static self, local: &Local, threads: &'static Threads) -> Option<&'static Tally> {
        let slot = threads.own_slot_or_register(local);
        let own = slot.and_then(|slot| Some((slot, self.of_slot(slot.cpu())?)));
        let me = match own {
            Some((slot, tally)) => {
                if !tally.is_used() {
                    slot.tallies.add(tally);
                    tally.here.initialize();
                    tally.sent.initialize();
                }
                slot.cpu() + 1
            }
            None => {
                self.unregistered.here.initialize();
                self.unregistered.sent.initialize();
                SEVERAL
            }
        };
        let order = (Ordering::AcqRel, Ordering::Relaxed);
        let known = self.known.compare_exchange(NO_THREAD, me, order.0, order.1);
        if known.is_err_and(|known| known != me) {
            self.known.store(SEVERAL, Ordering::Release); // [SR-4]
        }
        own.map(|(_, tally)| tally)
    }

    /// Every tally, with the number of its thread; `None` for the unregistered readers.
    fn tallies(&self) -> impl Iterator<Item = (Option<u32>, &Tally)> {
        let of_threads = self.of_threads.iter();
        let of_threads = of_threads.map(|(number, tally)| (Some(number), tally));
        of_threads.chain([(None, &self.unregistered)])
    }

    /// True if this count had no section at some moment during this scan.
    ///
    /// The unlocks are summed first: a section that is seen to have ended is then also seen to have begun.
    /// (In the other order the scan could see an end without its beginning, which would hide an open
    /// section.)
    pub fn is_empty(&self, count: usize) -> bool {
        let ended = self.sum(Tally::ended, count); // [SR-2]
        let begun = self.sum(Tally::begun, count);
        begun == ended
    }

    /// A grace period takes four sums, so it walks the leaves itself.
    #[inline(never)]
    fn sum(&self, of: fn(&Tally, usize) -> u64, count: usize) -> u64 {
        let mut sum = of(&self.unregistered, count);
        for tally in self.of_threads.leaves().flatten() {
            sum = sum.wrapping_add(of(tally, count));
        }
        sum
    }

    /// True if the calling thread has a section open that ends here.
    pub fn is_inside_here(&self, local: &Local, threads: &Threads) -> bool {
        let own = threads.own_slot(local);
        let tally = own.and_then(|slot| self.of_slot_if_any(slot.cpu()));
        local.counted.any() || tally.is_some_and(Tally::is_inside_here)
    }

    /// True if a section is open, in either count.
    pub fn is_inside(&self) -> bool {
        !self.is_empty(0) || !self.is_empty(1)
    }

    /// Ends the driver's wait for this count. True for one of the callers.
    pub fn unflag(&self, count: usize) -> bool {
        self.flags[count].swap(FLAG_CLEAR, Ordering::AcqRel) != FLAG_CLEAR // [FS-1]
    }

    /// True if only the calling thread has ever had a section here.
    pub fn is_alone(&self, threads: &Threads) -> bool {
        let me = threads
            .own_slot(&threads.local())
            .map(|slot| slot.cpu() + 1);
        let known = self.known.load(Ordering::Acquire);
        known == NO_THREAD || Some(known) == me
    }

    /// Whether the sections of a count have ended.
    pub fn look(&self, count: usize) -> bool {
        let outside = self.is_empty(count);
        if outside && self.flags[count].load(Ordering::Relaxed) != FLAG_CLEAR {
            // No section is left that would notify the driver; and sections that join later must not see the
            // flag.
            self.unflag(count);
        }
        outside
    }

    /// The wake flag of a count.
    pub fn flag(&self, count: CpuId) -> Option<&AtomicU32> {
        self.flags.get(count as usize)
    }

    /// New sections join this count. Called under the lock.
    pub fn join(&self, count: CpuId) {
        self.joined.store(count, Ordering::Relaxed);
    }

    /// The tally of a slot; creates its leaf if needed. `None`: no memory for it.
    pub fn of_slot(&self, number: u32) -> Option<&Tally> {
        // SAFETY: zeros are a tally that was never used.
        unsafe { self.of_threads.add(number, Tally::new) }
    }

    /// The tally of a slot, if it exists.
    #[inline(always)]
    pub fn of_slot_if_any(&self, number: u32) -> Option<&Tally> {
        self.of_threads.find(number)
    }
}

#[cfg(all(test, not(quiescent_model)))]
mod tests;
