//! Slots: where registered threads live. Registration takes no lock and calls no allocator.
//!
//! A leaf is a bitmap word and as many slots as it has bits; the first leaf is part of the domain,
//! later ones are mapped from the kernel when the earlier are full, and none is ever unmapped, so a
//! reader word outlives its thread. Claiming a slot is a compare-and-swap of the bitmap, which is at
//! the same time the buffered hotplug mask that the engine asks for (`present`).
//!
//! # Edges
//! `[REG-1]` claim: the compare-and-swap, the leaf's bit ([`leafmap`](crate::inner::reader::bitmap)), a *full fence*, then the first section. Pairs with the
//! requester's full fence `[SNAP-1]` before the driver reads the bitmap: if the driver misses the new
//! bit, the new thread's sections see every update that the grace period covers. This is what makes
//! both "a thread that registers later need not be looked at" and "a sole registered thread needs no
//! fence" true. `[REG-2]` release: the thread's sections, then the clearing of its bit (release);
//! reading the bitmap acquires: a missing bit is a credit.
//!
//! # The crowd
//! When no slot can be had (the kernel refuses memory, or the configured limit is reached), readers
//! share two counters, which play CPUs 0 and 1. Newcomers are sent to the counter that the scan is
//! not waiting for, so each in turn drains. Slow (locked instructions on shared lines), but `read_lock`
//! never fails. A zero seen after the grace period's start proves that every older section on that
//! counter has ended; no generation is needed. Whoever is inside stays on its side, and gets no slot, until the last
//! of its guards is dropped: else that one might be where a grace period does not look any more.

use std::mem::offset_of;

use crate::inner::prim::{
    self, AtomicPtr, AtomicU32, AtomicU64, LEAF_SLOTS, MAX_LEAVES, Ordering, array_of, const_new,
    full_fence,
};
use crate::inner::queue::per_thread::Queue;
use crate::inner::reader::bitmap::LeafMap;
use crate::inner::reader::record::Seat;
use crate::inner::reader::table::Table;
use crate::inner::reader::word::{FLAG_CLEAR, Reader, SINK_CROWD, generation, nesting};

/// The bitmap bits of the crowd's two counters, in the first leaf.
pub(crate) const CROWD: u64 = 0b11;

/// All bits of a leaf.
pub(crate) const FULL: u64 = bits_of(LEAF_SLOTS);

/// The bits of so many slots, 1 to 64.
const fn bits_of(slots: usize) -> u64 {
    u64::MAX >> (64 - slots)
}

/// A registered thread. Two cache lines of its own, since processors fetch them in pairs.
#[derive(Debug)]
#[repr(C, align(128))]
pub(crate) struct Slot {
    /// In the process's domain.
    pub(crate) seat: Seat,
    cpu: AtomicU32,
    thread: AtomicU32,
    /// What its threads have queued; made when the first of them queues something.
    queue: AtomicPtr<Queue>,
    /// Its spots in the program's own domains.
    pub(crate) spots: Table,
}

impl Slot {
    const_new! {
        fn new() -> Slot {
            Slot {
                seat: Seat::new(),
                cpu: AtomicU32::new(0),
                thread: AtomicU32::new(0),
                queue: AtomicPtr::new(std::ptr::null_mut()),
                spots: Table::new(),
            }
        }
    }

    /// Its queue, if any of its threads has ever queued something.
    pub(crate) fn queue(&self) -> Option<&'static Queue> {
        // SAFETY: null, or a queue that lives for ever.
        unsafe { self.queue.load(Ordering::Acquire).as_ref() }
    }

    /// Its queue; makes one. Only its owner calls this. `None`: no memory.
    pub(crate) fn queue_or_new(&self) -> Option<&'static Queue> {
        if let Some(queue) = self.queue() {
            return Some(queue);
        }
        let queue = Queue::leak(self.cpu())?;
        prim::domain().made.add(queue);
        let address = std::ptr::from_ref(queue).cast_mut();
        self.queue.store(address, Ordering::Release);
        Some(queue)
    }

    /// The slot whose reader word this is. Not for the dummy, nor for a sink.
    pub(crate) fn of(reader: &'static Reader) -> &'static Slot {
        let offset = offset_of!(Slot, seat) + offset_of!(Seat, reader);
        // SAFETY: callers pass a word inside a slot, at that offset; slots live for ever. The provenance of the whole slot was
        // exposed when it was claimed.
        unsafe { &*std::ptr::with_exposed_provenance(std::ptr::from_ref(reader).addr() - offset) }
    }

    /// Its number.
    pub(crate) fn cpu(&self) -> u32 {
        self.cpu.load(Ordering::Relaxed)
    }

    /// The kernel's number of its thread.
    pub(crate) fn thread(&self) -> u32 {
        self.thread.load(Ordering::Relaxed)
    }

    /// Its thread is not in this process: no section is open.
    #[cfg(not(quiescent_model))]
    fn end(&self) {
        self.seat.end();
        self.thread.store(0, Ordering::Relaxed);
    }

    /// A section of the process's domain is open (as the owner sees it).
    pub(crate) fn is_inside(&self) -> bool {
        self.seat.is_inside()
    }

    /// A section of some domain is open.
    pub(crate) fn is_inside_somewhere(&self) -> bool {
        self.is_inside() || self.spots.spots().any(|spot| spot.seat.is_inside())
    }
}

/// A bitmap word and its slots.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Leaf {
    bitmap: AtomicU64,
    slots: [Slot; LEAF_SLOTS],
}

impl Leaf {
    const_new! {
        pub(crate) fn new() -> Leaf {
            Leaf { bitmap: AtomicU64::new(0), slots: array_of!(Slot::new(); LEAF_SLOTS) }
        }
    }
}

/// All slots of a domain.
#[derive(Debug)]
pub(crate) struct Slots {
    first: Leaf,
    more: [AtomicPtr<Leaf>; MAX_LEAVES - 1],
    leaves: AtomicU32,
    map: LeafMap,
    /// Leaves there may be at most; lowered by configuration.
    limit: AtomicU32,
    /// Which of the crowd's counters newcomers join.
    crowd_side: AtomicU32,
    crowd_sinks: [Reader; 2],
}

impl Slots {
    const_new! {
        pub(crate) fn new() -> Slots {
            Slots {
                first: Leaf::new(),
                more: array_of!(AtomicPtr::new(std::ptr::null_mut()); MAX_LEAVES - 1),
                leaves: AtomicU32::new(1),
                map: LeafMap::new(),
                limit: AtomicU32::new(MAX_LEAVES as u32),
                crowd_side: AtomicU32::new(0),
                crowd_sinks: [Reader::new(0, SINK_CROWD), Reader::new(0, SINK_CROWD + 1)],
            }
        }
    }

    /// Numbers of all slots are below this.
    pub(crate) fn cpus(&self) -> u32 {
        self.leaves.load(Ordering::Acquire) * LEAF_SLOTS as u32
    }

    /// Allows at most this many leaves from now on.
    pub(crate) fn limit_leaves(&self, limit: u32) {
        self.limit
            .store(limit.clamp(1, MAX_LEAVES as u32), Ordering::Relaxed);
    }

    fn leaf(&self, index: usize) -> Option<&Leaf> {
        if index == 0 {
            return Some(&self.first);
        }
        let leaf = self.more.get(index - 1)?.load(Ordering::Acquire);
        // SAFETY: a published leaf is never unmapped.
        unsafe { leaf.as_ref() }
    }

    /// Which slots of a leaf are taken. `[REG-2]`
    pub(crate) fn present(&self, leaf: usize) -> u64 {
        self.leaf(leaf)
            .map_or(0, |leaf| leaf.bitmap.load(Ordering::Acquire))
    }

    /// At which leaves of a group somebody may be. `[REG-3]`
    pub(crate) fn occupied(&self, group: usize) -> u64 {
        self.map.occupied(group)
    }

    /// The engine has found a leaf empty. Under the domain's lock.
    pub(crate) fn vacated(&self, index: usize) {
        if let Some(leaf) = self.leaf(index) {
            self.map.vacate(index, &leaf.bitmap);
        }
    }

    /// Registered threads now.
    pub(crate) fn registered(&self) -> u32 {
        let leaves = self.leaves.load(Ordering::Acquire) as usize;
        let all: u32 = (0..leaves)
            .map(|leaf| self.present(leaf).count_ones())
            .sum();
        all - (self.present(0) & CROWD).count_ones()
    }

    /// Has any reader ever come here and not left?
    pub(crate) fn is_empty(&self) -> bool {
        let leaves = self.leaves.load(Ordering::Acquire) as usize;
        (0..leaves).all(|leaf| self.present(leaf) == 0)
    }

    /// The slot with this number. O(1).
    pub(crate) fn slot(&self, cpu: u32) -> Option<&Slot> {
        self.leaf(cpu as usize / LEAF_SLOTS)
            .map(|leaf| &leaf.slots[cpu as usize % LEAF_SLOTS])
    }

    /// Claims a free slot. Looks at no leaf that is known to be full; no lock, no allocator.
    pub(crate) fn claim(&'static self) -> Option<&'static Slot> {
        let mut next = self.map.with_room(0);
        while let Some(index) = next {
            let leaf = match self.leaf(index) {
                Some(leaf) => leaf,
                None => self.add_leaf(index)?,
            };
            #[cfg(all(test, not(quiescent_model)))]
            tests::LOOKS.with(|looks| looks.set(looks.get() + 1));
            // Before the claim, and whoever published the leaf: a scan must not miss a claimed slot.
            self.count_leaf(index);
            let reserved = if index == 0 { CROWD } else { 0 };
            if let Some(bit) = claim_bit(&leaf.bitmap, reserved) {
                self.map.arrive(index);
                full_fence(); // [REG-1]
                let slot = &leaf.slots[bit];
                let _ = std::ptr::from_ref(slot).expose_provenance();
                slot.cpu
                    .store((index * LEAF_SLOTS + bit) as u32, Ordering::Relaxed);
                slot.seat.furnish();
                slot.thread.store(prim::thread_id(), Ordering::Relaxed);
                return Some(slot);
            }
            let has_room = || free_bits(leaf.bitmap.load(Ordering::Relaxed), reserved) != 0;
            self.map.filled(index, has_room);
            next = self.map.with_room(index + 1);
        }
        None
    }

    /// Gives a slot back. Its owner is outside every section and will not use it again. The
    /// generation stays, so that a scan that remembers it still compares truly.
    pub(crate) fn release(&self, slot: &Slot) {
        let cpu = slot.cpu() as usize;
        slot.thread.store(0, Ordering::Relaxed);
        if let Some(leaf) = self.leaf(cpu / LEAF_SLOTS) {
            leaf.bitmap
                .fetch_and(!(1 << (cpu % LEAF_SLOTS)), Ordering::Release); // [REG-2]
            self.map.freed(cpu / LEAF_SLOTS);
        }
    }

    /// Adds the leaf `index`, or finds that somebody else just did.
    fn add_leaf(&'static self, index: usize) -> Option<&'static Leaf> {
        if index as u32 >= self.limit.load(Ordering::Relaxed) {
            return None;
        }
        let place = self.more.get(index - 1)?;
        let fresh = prim::map_leaf()?;
        let new = std::ptr::from_ref(fresh).cast_mut();
        match place.compare_exchange(
            std::ptr::null_mut(),
            new,
            Ordering::AcqRel,
            Ordering::Acquire,
        ) {
            Ok(_) => {}
            Err(_) => prim::unmap_leaf(fresh),
        }
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

    /// In the child of a fork: nobody is there but the thread that has `own`.
    #[cfg(not(quiescent_model))]
    pub(crate) fn forked(&self, own: Option<&Slot>) {
        self.map.forked();
        for index in 0..self.leaves.load(Ordering::Acquire) as usize {
            let Some(leaf) = self.leaf(index) else {
                continue;
            };
            let mut left = if index == 0 { CROWD } else { 0 } & self.present(index);
            for (bit, slot) in leaf.slots.iter().enumerate() {
                if own.is_some_and(|own| std::ptr::eq(own, slot)) {
                    left |= 1 << bit;
                    slot.thread.store(prim::thread_id(), Ordering::Relaxed);
                } else {
                    slot.end();
                }
            }
            leaf.bitmap.store(left, Ordering::Release);
        }
        for (side, slot) in self.first.slots.iter().take(2).enumerate() {
            let sections = crate::inner::reader::word::crowd_sections(
                crate::inner::prim::CELL_CROWD,
                side as u32,
            );
            slot.seat.reader.word.store(sections, Ordering::Release);
        }
    }

    /// In the child of a fork: a queue that was being made when its thread was lost has nothing in it
    /// that was published.
    #[cfg(not(quiescent_model))]
    pub(crate) fn forget_queues(&self, keep: impl Fn(&Queue) -> bool) {
        for slot in (0..self.cpus()).filter_map(|cpu| self.slot(cpu)) {
            if slot.queue().is_some_and(|queue| !keep(queue)) {
                slot.queue.store(std::ptr::null_mut(), Ordering::Release);
            }
        }
    }

    /// What a scan sees of a slot, in the engine's terms: outside, and the stamp. `[RD-2]`
    pub(crate) fn look(&self, cpu: u32) -> (bool, u64) {
        let Some(slot) = self.slot(cpu) else {
            return (true, 0);
        };
        let word = slot.seat.reader.word.load(Ordering::Acquire);
        if u64::from(cpu) >= u64::from(CROWD.count_ones()) {
            return (nesting(word) == 0, generation(word));
        }
        if word != 0 {
            // Newcomers to the other side, so that this one drains.
            self.crowd_side.store(1 - cpu, Ordering::Relaxed);
        }
        (word == 0, 0)
    }

    /// The side of the crowd that newcomers join.
    pub(crate) fn crowd_side(&self) -> u32 {
        self.crowd_side.load(Ordering::Relaxed) & 1
    }

    /// Joins a side of the crowd; returns its sink.
    pub(crate) fn crowd_enter(&'static self, side: u32) -> &'static Reader {
        if self.present(0) & CROWD != CROWD {
            self.first.bitmap.fetch_or(CROWD, Ordering::AcqRel);
            full_fence(); // [REG-1]
        }
        let side = side as usize & 1;
        self.first.slots[side]
            .seat
            .reader
            .word
            .fetch_add(1, Ordering::AcqRel);
        full_fence(); // [RD-1]
        &self.crowd_sinks[side]
    }

    /// Leaves the crowd; returns the counter if a driver waits for it and it has drained.
    pub(crate) fn crowd_leave(&'static self, side: u32) -> Option<&'static Reader> {
        let counter = &self.first.slots[side as usize & 1].seat.reader;
        let before = counter.word.fetch_sub(1, Ordering::AcqRel); // [RD-2]
        full_fence(); // [RD-3]
        (before == 1 && counter.flag.load(Ordering::Relaxed) != FLAG_CLEAR).then_some(counter)
    }

    /// Does a driver wait for this side of the crowd?
    pub(crate) fn crowd_flagged(&self, side: u32) -> bool {
        let counter = &self.first.slots[side as usize & 1].seat.reader;
        counter.flag.load(Ordering::Relaxed) != FLAG_CLEAR
    }
}

/// The slots that nobody has.
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
