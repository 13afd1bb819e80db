//! Slots of registered threads. Registration takes no lock and calls no allocator.
//!
//! A leaf is a bitmap word and one slot per bit; the first leaf is stored in place, later ones are mapped
//! from the kernel when the earlier are full, and none is ever unmapped, so a reader word outlives its
//! thread. A claim is a compare-and-swap of the bitmap, which is also the buffered hotplug mask that the
//! engine queries (`present`).
//!
//! # Edges
//! `[REG-1]` claim: the compare-and-swap, the leaf's bit ([`bitmap`](crate::reader::bitmap)), a *full fence*,
//! then the first section. Pairs with the requester's full fence `[SNAP-1]` before the driver reads the
//! bitmap: if the driver misses the new bit, the new thread's sections see every update that the grace period
//! covers. Two properties follow: a thread that registers later need not be scanned, and a sole registered
//! thread needs no fence. `[REG-2]` release: the thread's sections, then the clearing of its bit (release); a
//! load of the bitmap acquires: a missing bit is a credit. So does the next claim of that bit: what a thread
//! did by its index happens before what the next owner does by it.

use std::mem::offset_of;

use crate::prim::asking::Answer;
use crate::prim::counters::{Counter, value};
use crate::prim::growing::made;
use crate::prim::linked::{List, OfSlot};
use crate::prim::{
    self, AtomicPtr, AtomicU32, AtomicU64, LEAF_SLOTS, MAX_LEAVES, Ordering, full_fence,
};
use crate::queue::per_thread::{Queue, QueuePlace};
use crate::reader::bitmap::{LeafMap, UnderLock};
use crate::reader::table::{ReaderRecord, Table};
use crate::reader::tally::Tally;
use crate::reader::unregistered::{RESERVED, UNREGISTERED, Unregistered};
use crate::reader::word::Reader;
use crate::reader::words::ReaderWords;

/// All bits of a leaf.
pub const FULL: u64 = bits_of(LEAF_SLOTS);

/// The bits of `slots` slots, 1 to 64.
const fn bits_of(slots: usize) -> u64 {
    u64::MAX >> (64 - slots)
}

/// The slot of a registered thread. Two cache lines of its own, since CPUs prefetch lines in pairs.
#[derive(Debug)]
#[repr(C, align(128))]
pub struct Slot {
    /// The words for the process's domain.
    pub words: ReaderWords,
    cpu: AtomicU32,
    thread: AtomicU32,
    /// What its threads have answered when they were asked for a fence.
    pub answer: Answer,
    /// The queue of its threads in the process's domain.
    pub queue: QueuePlace,
    /// All queues of its threads: this one, and those in the program's domains. Only its owner adds one.
    pub queues: List<Queue, OfSlot>,
    /// Its records in the program's own domains.
    pub records: Table,
    /// The tallies in use of its threads, in all `Srcu`s. Its owner adds each before it is first used.
    pub tallies: List<Tally, OfSlot>,
}

impl Slot {
    const_new! {
        fn new() -> Slot {
            Slot {
                words: ReaderWords::new(),
                cpu: AtomicU32::new(0),
                thread: AtomicU32::new(0),
                answer: Answer::new(),
                queue: QueuePlace::new(),
                queues: List::new(),
                records: Table::new(),
                tallies: List::new(),
            }
        }
    }

    /// The slot of this reader word.
    ///
    /// # Safety
    /// The word is that of a slot's threads: not the dummy, nor a sink.
    #[inline(always)]
    pub unsafe fn of(reader: &'static Reader) -> &'static Slot {
        let offset = offset_of!(Slot, words) + offset_of!(ReaderWords, reader);
        // SAFETY: the caller's promise: a word inside a slot, at that offset; slots live forever. The
        // provenance of the whole slot was exposed when it was claimed.
        unsafe { &*std::ptr::with_exposed_provenance(std::ptr::from_ref(reader).addr() - offset) }
    }

    /// Its number.
    #[inline(always)]
    pub fn cpu(&self) -> u32 {
        self.cpu.load(Ordering::Relaxed)
    }

    /// Its number among the slots, which are dense from 0 on.
    #[inline(always)]
    pub fn index(&self) -> usize {
        self.cpu() as usize - UNREGISTERED as usize
    }

    /// The kernel's id of its thread.
    pub fn thread(&self) -> u32 {
        self.thread.load(Ordering::Relaxed)
    }

    /// Its thread is not in this process: no section is open. Its queues and records are its next thread's.
    fn end(&self) {
        self.words.end();
        self.thread.store(0, Ordering::Relaxed);
        self.tallies.retain(|_| false); // unused again: `Counted::forked`
    }

    /// True if a section of the process's domain is open (as the owner sees it).
    pub fn is_inside(&self) -> bool {
        self.words.is_inside()
    }

    /// A record of its thread in whose domain a section is open. O(domains in which it has read).
    #[inline(never)]
    pub fn open_record(&self) -> Option<&'static ReaderRecord> {
        let mut records = self.records.all.iter();
        records.find(|record| record.words.is_inside())
    }

    /// True if a section of any domain is open; of an `Srcu`, one that ends on its thread.
    #[inline(never)]
    pub fn is_inside_somewhere(&self) -> bool {
        self.is_inside()
            || self.open_record().is_some()
            || self.tallies.iter().any(Tally::is_inside_here)
    }
}

/// A bitmap word and its slots.
#[derive(Debug)]
#[repr(C)]
pub struct Leaf {
    bitmap: AtomicU64,
    slots: [Slot; LEAF_SLOTS],
}

impl Leaf {
    const_new! {
        pub fn new() -> Leaf {
            Leaf { bitmap: AtomicU64::new(0), slots: array_of!(Slot::new(); LEAF_SLOTS) }
        }
    }
}

/// The first leaf, and where the others are.
#[derive(Debug)]
pub struct SlotLeaves {
    first: Leaf,
    more: [AtomicPtr<Leaf>; MAX_LEAVES - 1],
}

impl SlotLeaves {
    const_new! {
        pub fn new() -> SlotLeaves {
            SlotLeaves {
                first: Leaf::new(),
                more: array_of!(AtomicPtr::new(std::ptr::null_mut()); MAX_LEAVES - 1),
            }
        }
    }
}

/// All slots of a process.
#[derive(Debug)]
pub struct Slots {
    all: &'static SlotLeaves,
    leaves: AtomicU32,
    map: LeafMap,
    /// Largest number of leaves; lowered by configuration.
    limit: AtomicU32,
    /// With more threads present than this, no thread is asked for a fence.
    most_asked: Counter,
    pub unregistered: Unregistered,
}

impl Slots {
    const_new! {
        pub fn new(all: &'static SlotLeaves) -> Slots {
            Slots {
                all,
                leaves: AtomicU32::new(1),
                map: LeafMap::new(),
                limit: AtomicU32::new(MAX_LEAVES as u32),
                most_asked: Counter::new(if cfg!(quiescent_model) {
                    0 // but in scenarios about that
                } else {
                    prim::MOST_ASKED as u64
                }),
                unregistered: Unregistered::new(),
            }
        }
    }

    /// Upper bound (exclusive) of all slots' numbers.
    pub fn cpus(&self) -> u32 {
        self.leaves.load(Ordering::Acquire) * LEAF_SLOTS as u32
    }

    /// Limits the number of leaves from now on.
    pub fn limit_leaves(&self, limit: u32) {
        self.limit
            .store(limit.clamp(1, MAX_LEAVES as u32), Ordering::Relaxed);
    }

    fn leaf(&self, index: usize) -> Option<&Leaf> {
        if index == 0 {
            return Some(&self.all.first);
        }
        let leaf = self.all.more.get(index - 1)?.load(Ordering::Acquire);
        // SAFETY: a published leaf is never unmapped.
        unsafe { leaf.as_ref() }
    }

    /// The claimed slots of a leaf. `[REG-2]`
    fn bitmap(&self, leaf: usize) -> u64 {
        self.leaf(leaf)
            .map_or(0, |leaf| leaf.bitmap.load(Ordering::Acquire))
    }

    /// The readers of a leaf.
    pub fn present(&self, leaf: usize) -> u64 {
        self.bitmap(leaf) | self.unregistered.present(leaf)
    }

    /// The leaves of a group that may contain readers. `[REG-3]`
    pub fn occupied(&self, group: usize, lock: &UnderLock) -> u64 {
        self.map.occupied(group, lock)
    }

    /// The leaves of a group that have readers, without the map. O(leaves of the group).
    pub fn claimed_leaves(&self, group: usize) -> u64 {
        let leaves = (self.cpus() as usize / LEAF_SLOTS).saturating_sub(group * 64);
        (0..leaves.min(64)).fold(0, |all, leaf| match self.present(group * 64 + leaf) {
            0 => all,
            _ => all | 1 << leaf,
        })
    }

    /// The engine has found a leaf empty.
    pub fn vacated(&self, index: usize, lock: &UnderLock) {
        if let Some(leaf) = self.leaf(index) {
            self.map.vacate(index, &leaf.bitmap, lock);
        }
    }

    /// With more threads present than this, no thread is asked for a fence.
    pub fn most_asked(&self) -> usize {
        value(&self.most_asked) as usize
    }

    /// Sets it, before any thread registers. At most [`MOST_ASKED`](prim::MOST_ASKED).
    pub fn set_most_asked(&self, most: usize) {
        let most = most.min(prim::MOST_ASKED) as u64;
        (self.most_asked).store(most, std::sync::atomic::Ordering::Relaxed);
    }

    /// The claimed slots. A thread that the caller's full fence precedes may be missing. `[REG-1]`
    ///
    /// Looks at every leaf, because the caller holds no lock: a driver may be vacating a leaf. `[ASK-3]`
    pub fn claimed(&self) -> impl Iterator<Item = &Slot> {
        let leaves = 0..self.leaves.load(Ordering::Acquire) as usize;
        leaves.flat_map(move |leaf| {
            let mut left = self.bitmap(leaf);
            std::iter::from_fn(move || {
                let bit = left.trailing_zeros() as usize;
                left &= left.checked_sub(1)?;
                self.leaf(leaf)?.slots.get(bit)
            })
        })
    }

    /// Number of registered threads.
    pub fn registered(&self) -> u32 {
        let leaves = self.leaves.load(Ordering::Acquire) as usize;
        let registered = (0..leaves).map(|leaf| self.bitmap(leaf).count_ones());
        registered.sum()
    }

    /// True if no reader has registered without having left.
    pub fn is_empty(&self) -> bool {
        let leaves = self.leaves.load(Ordering::Acquire) as usize;
        (0..leaves).all(|leaf| self.present(leaf) == 0)
    }

    /// The slot with this number. O(1).
    pub fn slot(&self, cpu: u32) -> Option<&Slot> {
        self.leaf(cpu as usize / LEAF_SLOTS)
            .map(|leaf| &leaf.slots[cpu as usize % LEAF_SLOTS])
    }

    /// Claims a free slot. Skips leaves that are known to be full; takes no lock, uses no allocator.
    pub fn claim(&'static self) -> Option<&'static Slot> {
        let mut next = self.map.with_room(0);
        while let Some(index) = next {
            let leaf = match self.leaf(index) {
                Some(leaf) => leaf,
                None => self.add_leaf(index)?,
            };
            #[cfg(all(test, not(quiescent_model)))]
            tests::INSPECTED.with(|count| count.set(count.get() + 1));
            // Before the claim, whichever thread published the leaf: a scan must not miss a claimed slot.
            self.count_leaf(index);
            let reserved = if index == 0 { RESERVED } else { 0 };
            if let Some(bit) = claim_bit(&leaf.bitmap, reserved) {
                self.map.arrive(index);
                full_fence(); // [REG-1]
                let slot = &leaf.slots[bit];
                let _ = std::ptr::from_ref(slot).expose_provenance();
                slot.cpu
                    .store((index * LEAF_SLOTS + bit) as u32, Ordering::Relaxed);
                slot.words.initialize();
                slot.words.reader.allow_asking(self.most_asked() > 0);
                slot.thread.store(prim::thread_id(), Ordering::Relaxed);
                return Some(slot);
            }
            let has_room = || free_bits(leaf.bitmap.load(Ordering::Relaxed), reserved) != 0;
            self.map.filled(index, has_room);
            next = self.map.with_room(index + 1);
        }
        None
    }

    /// Releases a slot. Its owner is outside every section and will not use it again. The generation stays,
    /// so that a scan that remembers it still compares correctly.
    pub fn release(&self, slot: &Slot) {
        let cpu = slot.cpu() as usize;
        slot.thread.store(0, Ordering::Release); // before the bit; without a thread no section is open
        if let Some(leaf) = self.leaf(cpu / LEAF_SLOTS) {
            leaf.bitmap
                .fetch_and(!(1 << (cpu % LEAF_SLOTS)), Ordering::Release); // [REG-2]
            self.map.freed(cpu / LEAF_SLOTS);
        }
    }

    /// Adds the leaf `index`, unless another thread has just added it.
    fn add_leaf(&'static self, index: usize) -> Option<&'static Leaf> {
        if index as u32 >= self.limit.load(Ordering::Relaxed) {
            return None;
        }
        // SAFETY: a leaf consists of atomic integers and pointers, for which all zeros is a value.
        let leaf = || unsafe { prim::zeroes(1, Leaf::new) };
        made(self.all.more.get(index - 1)?, leaf)?;
        self.leaf(index)
    }

    /// Makes the count of leaves cover this one. Part of `[REG-1]`: it precedes the claim's fence.
    fn count_leaf(&self, index: usize) {
        let count = index as u32 + 1;
        let mut known = self.leaves.load(Ordering::Relaxed);
        while known < count {
            match self
                .leaves
                .compare_exchange(known, count, Ordering::AcqRel, Ordering::Relaxed)
            {
                Ok(_) => break,
                Err(newer) => known = newer,
            }
        }
    }

    /// In the child of a fork: only the thread that has `own` remains, and only queues that `keep` accepts:
    /// nothing was published in one whose creation was interrupted. Leaves are never released. `open`: the
    /// sections of the forking thread as an unregistered reader, by side.
    #[cfg(feature = "fork")]
    pub fn forked(&self, open: [u64; 2], own: Option<&Slot>, keep: impl Fn(&Queue) -> bool) {
        self.map.forked();
        for index in 0..self.leaves.load(Ordering::Acquire) as usize {
            let Some(leaf) = self.leaf(index) else {
                continue;
            };
            let mut left = 0;
            for (bit, slot) in leaf.slots.iter().enumerate() {
                slot.queue.forked(&keep);
                slot.queues.retain(&keep);
                if own.is_some_and(|own| std::ptr::eq(own, slot)) {
                    left = 1 << bit;
                    slot.thread.store(prim::thread_id(), Ordering::Relaxed);
                } else {
                    slot.end();
                }
            }
            leaf.bitmap.store(left, Ordering::Release);
        }
        self.unregistered.forked(Some(open));
    }
}

/// The free slots.
fn free_bits(bits: u64, reserved: u64) -> u64 {
    !(bits | reserved) & FULL
}

/// Sets a clear bit and returns its number.
fn claim_bit(bitmap: &AtomicU64, reserved: u64) -> Option<usize> {
    let mut bits = bitmap.load(Ordering::Relaxed);
    loop {
        let free = free_bits(bits, reserved);
        if free == 0 {
            return None;
        }
        let bit = free.trailing_zeros();
        let taken = bits | 1 << bit;
        match bitmap.compare_exchange(bits, taken, Ordering::AcqRel, Ordering::Relaxed) {
            Ok(_) => return Some(bit as usize),
            Err(now) => bits = now,
        }
    }
}

#[cfg(all(test, not(quiescent_model)))]
mod tests;
