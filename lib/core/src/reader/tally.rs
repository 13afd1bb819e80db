//! The counts of one thread in an `Srcu`.

use crate::prim::linked::{Linked, List, OfSlot};
use crate::prim::{AtomicU64, Ordering, light_fence};
use crate::queue::per_thread::QueuePlace;

/// Sections of one kind in the two counts. A value in use is one more than the number of additions.
#[derive(Debug)]
#[repr(C)]
pub struct SectionCounts {
    pub(super) locks: [AtomicU64; 2],
    pub(super) unlocks: [AtomicU64; 2],
}

/// The number of additions to a count, whose initial value in use is 1.
fn times(count: &AtomicU64) -> u64 {
    count.load(Ordering::Acquire).saturating_sub(1) // [SR-2]
}

impl SectionCounts {
    const_new! {
        pub(super) fn new() -> SectionCounts {
            SectionCounts {
                locks: array_of!(AtomicU64::new(0); 2),
                unlocks: array_of!(AtomicU64::new(0); 2),
            }
        }
    }

    /// A section of its thread begins.
    #[inline(always)]
    pub fn enter(&self, count: usize) {
        self.add_lock(count);
        light_fence(); // [SR-1]
    }

    /// A section ends on its thread. The caller loads the flag next.
    #[inline(always)]
    pub fn leave(&self, count: usize) {
        self.add_unlock(count);
        light_fence(); // [SR-3]
    }

    /// The same as [`enter`](SectionCounts::enter), for a caller that executes a fence next.
    #[inline(always)]
    pub(super) fn add_lock(&self, count: usize) {
        let locks = &self.locks[count];
        locks.store(locks.load(Ordering::Relaxed) + 1, Ordering::Release);
    }

    /// The same as [`leave`](SectionCounts::leave), for a caller that executes a fence next.
    #[inline(always)]
    pub(super) fn add_unlock(&self, count: usize) {
        let unlocks = &self.unlocks[count];
        unlocks.store(unlocks.load(Ordering::Relaxed) + 1, Ordering::Release); // [SR-2]
    }

    /// Sections that have begun here.
    pub(super) fn begun(&self, count: usize) -> u64 {
        times(&self.locks[count])
    }

    /// Sections that have ended here.
    pub(super) fn ended(&self, count: usize) -> u64 {
        times(&self.unlocks[count])
    }

    /// More sections have begun here than have ended, by this number; modulo 2^64, since sections may end
    /// here that have begun elsewhere.
    pub(super) fn open(&self, count: usize) -> u64 {
        let ended = self.ended(count);
        self.begun(count).wrapping_sub(ended)
    }

    /// Gives each value in use its first one. Another thread may do the same.
    pub(super) fn initialize(&self) {
        for count in self.locks.iter().chain(&self.unlocks) {
            let order = (Ordering::AcqRel, Ordering::Relaxed);
            let _ = count.compare_exchange(0, 1, order.0, order.1);
        }
    }

    /// No section has begun or ended here. In the child of a fork, which has no other thread.
    pub(super) fn clear(&self) {
        for count in self.locks.iter().chain(&self.unlocks) {
            count.store(0, Ordering::Relaxed);
        }
    }
}

/// The counts of one thread. Two cache lines of its own, since CPUs prefetch lines in pairs; all counts are
/// in the first one.
#[derive(Debug)]
#[repr(C, align(128))]
pub struct Tally {
    /// Sections that end on the thread on which they began: their guards cannot leave it.
    pub here: SectionCounts,
    /// Sections that may end on any thread.
    pub sent: SectionCounts,
    /// The queue of its slot's threads here.
    pub queue: QueuePlace,
    /// The tallies of its slot that were used before this one.
    of_slot: List<Tally, OfSlot>,
}

impl Linked<OfSlot> for Tally {
    fn rest(&self) -> &List<Tally, OfSlot> {
        &self.of_slot
    }
}

impl Tally {
    const_new! {
        pub(super) fn new() -> Tally {
            Tally {
                here: SectionCounts::new(),
                sent: SectionCounts::new(),
                queue: QueuePlace::new(),
                of_slot: List::new(),
            }
        }
    }

    /// True if a thread has initialized all its counts. Those of `sent` are initialized last.
    pub(super) fn is_used(&self) -> bool {
        self.sent.unlocks[1].load(Ordering::Relaxed) != 0
    }

    /// True if a section is open that ends on the calling thread, the owner of this tally.
    pub fn is_inside_here(&self) -> bool {
        self.here.open(0) != 0 || self.here.open(1) != 0
    }

    pub(super) fn begun(&self, count: usize) -> u64 {
        self.here.begun(count).wrapping_add(self.sent.begun(count))
    }

    pub(super) fn ended(&self, count: usize) -> u64 {
        self.here.ended(count).wrapping_add(self.sent.ended(count))
    }
}
