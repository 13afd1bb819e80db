//! Spots: where threads read in a domain of the program's own.
//!
//! ```text
//!   domain A's spots   [ crowd ][ thread 2 ][ thread 7 ]            in the order in which they came
//!   domain B's spots   [ crowd ][ thread 7 ]
//!                                   ▲
//!   slot of thread 7    table: A ─► spot, B ─► spot                 by the number of the domain
//! ```
//!
//! A thread that reads in a domain for the first time gets a *spot* there: a [`Seat`] of its own, on lines that nobody else
//! writes. It belongs to the thread's *slot*, and the next thread with that slot goes on with it; so a thread's end is nothing that a domain
//! hears of, and there are never more spots than there were threads at once. What a thread pays for domains in which it does not
//! read is nothing.
//!
//! * A thread notes the spot that it used last; the fast path is to see that it is of this domain, and to store a word. Whoever reads in
//!   several by turns looks his spot up in his slot's table each time.
//! * Spots are numbered as they come. The engine knows them by that number, behind the two of the crowd; the tree of a domain is as large as
//!   the number of threads that have read there, however many there are in the process.
//! * No lock and no allocator: leaves of spots and of tables come from the kernel ([`prim::zeroes`]), and never go back. So a section may
//!   be opened in a signal handler, also a thread's first one.
//! * Threads without a slot, and all where memory is gone, share the *crowd*: two counters, as in the process's domain
//!   ([`slots`](crate::inner::reader::threads)). There, too, newcomers join the side that the scan does not wait for.
//! * In fenced mode no spot is noted, and every section comes the slow way, where the fences are.
//!
//! # Edges
//! Those of the process's domain, with the same names: `[RD-1]` to `[RD-3]` are the seat's. `[REG-1]` a claim: the count of spots, *full
//! fence*, then the first section; pairs with `[SNAP-1]`. A spot is never given back, so there is no `[REG-2]`.
//! `[SP-1]` a spot's seat and its domain are written, then its address is published in the table (release; only its slot's threads look there, and
//! handlers on them); the leaf it is in is published before the count covers it (release, acquire).

use quiescent_engine::{CpuId, Host, LeafId, Seen};

use crate::inner::domain::Domain;
use crate::inner::prim::growing::{made, place};
use crate::inner::prim::{
    self, AtomicPtr, AtomicU32, LEAF_SLOTS, Ordering, array_of, const_new, full_fence,
};
use crate::inner::queue::per_thread::Queue;
use crate::inner::reader::record::Seat;
use crate::inner::reader::threads::{FULL, Slot};
use crate::inner::reader::word::{FLAG_CLEAR, Reader, SINK_CROWD, generation, nesting};

/// Spots in the first leaf, which is part of the whole; each further one has twice as many as the one before.
const FIRST: u32 = prim::FIRST_SPOTS;
/// Further leaves: enough for every slot there can be.
const LEAVES: usize = prim::SPOT_LEAVES;
/// The crowd's counters are the engine's first two numbers.
const CROWD: u32 = 2;

/// A thread's place in a domain. Two cache lines of its own, since processors fetch them in pairs.
#[derive(Debug)]
#[repr(C, align(128))]
pub(crate) struct Spot {
    pub(crate) seat: Seat,
    /// Of which domain.
    domain: AtomicPtr<Domain>,
    /// The number of its slot.
    slot: AtomicU32,
    /// Its number here, for the engine.
    cpu: AtomicU32,
    /// What its slot's threads have queued here; made when the first of them queues something.
    queue: AtomicPtr<Queue>,
    /// The same, while a thread pushes to it without the lock.
    attached: AtomicPtr<Queue>,
}

impl Spot {
    const_new! {
        pub(crate) fn new() -> Spot {
            Spot {
                seat: Seat::new(),
                domain: AtomicPtr::new(std::ptr::null_mut()),
                slot: AtomicU32::new(0),
                cpu: AtomicU32::new(0),
                queue: AtomicPtr::new(std::ptr::null_mut()),
                attached: AtomicPtr::new(std::ptr::null_mut()),
            }
        }
    }

    /// What a thread has noted that has noted none.
    #[cfg(not(quiescent_model))]
    pub(crate) const fn nowhere() -> Spot {
        let mut spot = Spot::new();
        spot.domain = AtomicPtr::new(std::ptr::without_provenance_mut(1)); // nor those of a domain that was never used
        spot
    }

    /// Is it a spot of these?
    #[inline(always)]
    pub(crate) fn is_of(&self, domain: *const Domain) -> bool {
        self.domain.load(Ordering::Relaxed).cast_const() == domain
    }

    /// Where its queue is, and where its owner finds that without a lock.
    pub(crate) fn queue_places(&self) -> [&AtomicPtr<Queue>; 2] {
        [&self.queue, &self.attached]
    }

    /// The queue to which the calling thread, whose spot this is, pushes without a lock.
    #[inline(always)]
    pub(crate) fn attached(&self) -> *const Queue {
        self.attached.load(Ordering::Relaxed)
    }

    /// The number of its slot.
    pub(crate) fn slot(&self) -> u32 {
        self.slot.load(Ordering::Relaxed)
    }

    /// Its number for the engine.
    pub(crate) fn cpu(&self) -> CpuId {
        self.cpu.load(Ordering::Relaxed)
    }
}

/// All spots of a domain.
#[derive(Debug)]
pub(crate) struct Spots {
    first: [Spot; FIRST as usize],
    more: [AtomicPtr<Spot>; LEAVES],
    /// So many have been claimed.
    claimed: AtomicU32,
    crowd: [Reader; 2],
    crowd_sinks: [Reader; 2],
    /// Which of the crowd's counters newcomers join.
    crowd_side: AtomicU32,
    /// Somebody has been in the crowd.
    crowd_known: AtomicU32,
}

impl Spots {
    const_new! {
        pub(crate) fn new() -> Spots {
            Spots {
                first: array_of!(Spot::new(); FIRST as usize),
                more: array_of!(AtomicPtr::new(std::ptr::null_mut()); LEAVES),
                claimed: AtomicU32::new(0),
                crowd: [Reader::new(0, FLAG_CLEAR), Reader::new(0, FLAG_CLEAR)],
                crowd_sinks: [Reader::new(0, SINK_CROWD), Reader::new(0, SINK_CROWD + 1)],
                crowd_side: AtomicU32::new(0),
                crowd_known: AtomicU32::new(0),
            }
        }
    }

    /// The spot with this number, if it has been claimed.
    fn spot(&self, number: u32) -> Option<&Spot> {
        if number >= self.claimed.load(Ordering::Acquire) {
            return None;
        }
        let (leaf, at) = place(number, FIRST);
        match leaf.checked_sub(1) {
            None => self.first.get(at),
            Some(leaf) => {
                let leaf = self.more.get(leaf)?.load(Ordering::Acquire); // [SP-1]
                // SAFETY: a leaf of this size, which lives for ever: it was there before the count covered it.
                Some(unsafe { &*leaf.add(at) })
            }
        }
    }

    /// All that have been claimed.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Spot> {
        (0..self.claimed.load(Ordering::Acquire)).filter_map(|number| self.spot(number))
    }

    /// The spot that the engine knows by this number.
    pub(crate) fn of_cpu(&self, cpu: CpuId) -> Option<&Spot> {
        cpu.checked_sub(CROWD).and_then(|number| self.spot(number))
    }

    /// The reader word that the engine knows by this number.
    fn reader(&self, cpu: CpuId) -> Option<&Reader> {
        match self.crowd.get(cpu as usize) {
            Some(counter) => Some(counter),
            None => self.of_cpu(cpu).map(|spot| &spot.seat.reader),
        }
    }

    /// Its wake flag.
    pub(crate) fn flag(&self, cpu: CpuId) -> Option<&AtomicU32> {
        self.reader(cpu).map(|reader| &reader.flag)
    }

    /// So many there are.
    pub(crate) fn claimed(&self) -> u32 {
        self.claimed.load(Ordering::Acquire)
    }

    /// Numbers of all that take part are below this.
    pub(crate) fn cpus(&self) -> u32 {
        CROWD + self.claimed.load(Ordering::Acquire)
    }

    /// The spot of a slot in this domain, the calling thread's. Claims one, if it has none. `None`: there is no memory for it.
    ///
    /// A handler that comes meanwhile may be first; then its spot is the slot's, and the one that was claimed here stays empty for ever.
    pub(crate) fn of_slot(
        &'static self,
        domain: &'static Domain,
        slot: &Slot,
    ) -> Option<&'static Spot> {
        let cell = slot.spots.cell(domain.number())?;
        let known = cell.load(Ordering::Acquire); // [SP-1]
        // SAFETY: null, or a spot, and those live for ever.
        if let Some(known) = unsafe { known.as_ref() } {
            return Some(known);
        }
        let new = self.claim(domain, slot)?;
        let order = (Ordering::AcqRel, Ordering::Acquire);
        let raw = std::ptr::from_ref(new).cast_mut();
        match cell.compare_exchange(std::ptr::null_mut(), raw, order.0, order.1) {
            Ok(_) => Some(new),
            // SAFETY: not null, and as above.
            Err(other) => Some(unsafe { &*other }),
        }
    }

    fn claim(&'static self, domain: &'static Domain, slot: &Slot) -> Option<&'static Spot> {
        let order = (Ordering::AcqRel, Ordering::Relaxed);
        let mut number = self.claimed.load(Ordering::Relaxed);
        loop {
            self.add_leaf(place(number, FIRST).0)?;
            match self
                .claimed
                .compare_exchange(number, number + 1, order.0, order.1)
            {
                Ok(_) => break,
                Err(now) => number = now,
            }
        }
        full_fence(); // [REG-1]
        let spot = self.spot(number)?;
        let _ = std::ptr::from_ref(spot).expose_provenance();
        spot.seat.furnish();
        spot.slot.store(slot.cpu(), Ordering::Relaxed);
        spot.cpu.store(CROWD + number, Ordering::Relaxed);
        let domain = std::ptr::from_ref(domain).cast_mut();
        spot.domain.store(domain, Ordering::Release); // [SP-1]
        Some(spot)
    }

    /// Sees to it that there is this leaf.
    fn add_leaf(&self, leaf: usize) -> Option<()> {
        let Some(further) = leaf.checked_sub(1) else {
            return Some(());
        };
        // SAFETY: zeros are an empty spot.
        let new = || unsafe { prim::zeroes((FIRST as usize) << leaf, Spot::new) };
        made(self.more.get(further)?, new).map(|_| ())
    }

    // The crowd.

    /// The side of the crowd that newcomers join.
    pub(crate) fn crowd_side(&self) -> u32 {
        self.crowd_side.load(Ordering::Relaxed) & 1
    }

    /// Joins a side of the crowd; returns its sink.
    pub(crate) fn crowd_enter(&'static self, side: u32) -> &'static Reader {
        if self.crowd_known.load(Ordering::Relaxed) == 0 {
            self.crowd_known.store(1, Ordering::Release);
            full_fence(); // [REG-1]
        }
        let side = side as usize & 1;
        self.crowd[side].word.fetch_add(1, Ordering::AcqRel);
        full_fence(); // [RD-1]
        &self.crowd_sinks[side]
    }

    /// Leaves it, by the flag of its sink; returns the counter if a driver waits for it and it has drained.
    pub(crate) fn crowd_leave(&self, flag: u32) -> Option<&Reader> {
        let counter = &self.crowd[(flag - SINK_CROWD) as usize & 1];
        let before = counter.word.fetch_sub(1, Ordering::AcqRel); // [RD-2]
        full_fence(); // [RD-3]
        (before == 1 && counter.flag.load(Ordering::Relaxed) != FLAG_CLEAR).then_some(counter)
    }

    /// What a scan sees, in the engine's terms: outside, and the stamp. `[RD-2]`
    fn look(&self, cpu: CpuId) -> (bool, u64) {
        let Some(reader) = self.reader(cpu) else {
            return (true, 0);
        };
        let word = reader.word.load(Ordering::Acquire);
        if cpu >= CROWD {
            return (nesting(word) == 0, generation(word));
        }
        if word != 0 {
            // Newcomers to the other side, so that this one drains.
            self.crowd_side.store(1 - cpu, Ordering::Relaxed);
        }
        (word == 0, 0)
    }

    /// Does a driver wait for the side with this sink?
    pub(crate) fn crowd_flagged(&self, flag: u32) -> bool {
        let counter = &self.crowd[(flag - SINK_CROWD) as usize & 1];
        counter.flag.load(Ordering::Relaxed) != FLAG_CLEAR
    }

    /// So many sections are open on this side of the crowd.
    pub(crate) fn in_crowd(&self, cpu: CpuId) -> u64 {
        let counter = self.crowd.get(cpu as usize);
        counter.map_or(0, |counter| counter.word.load(Ordering::Relaxed))
    }

    /// Is a section open, as far as one look can tell?
    #[cfg(not(quiescent_model))]
    pub(crate) fn is_inside(&self) -> bool {
        (0..self.cpus()).any(|cpu| !self.look(cpu).0)
    }

    /// In the child of a fork: nobody is inside but the thread that has `own`.
    #[cfg(not(quiescent_model))]
    pub(crate) fn forked(&self, own: Option<&Slot>) {
        let own = own.map(Slot::cpu);
        for spot in self.all().filter(|spot| own != Some(spot.slot())) {
            spot.seat.end();
        }
        for counter in &self.crowd {
            counter.flag.store(FLAG_CLEAR, Ordering::Relaxed);
            if prim::tls_get(prim::CELL_CROWDS) == 0 {
                counter.word.store(0, Ordering::Release);
            } // else they are the forking thread's, perhaps
        }
    }
}

/// The engine's questions, answered from the spots.
pub(crate) struct View<'a>(pub(crate) &'a Spots);

impl Host for View<'_> {
    const TRACES: bool = false;

    fn cpus(&self) -> u32 {
        self.0.cpus()
    }

    fn observe(&self, cpu: CpuId) -> Seen {
        let (outside, stamp) = self.0.look(cpu);
        Seen { outside, stamp }
    }

    fn present(&self, leaf: LeafId) -> u64 {
        let below = |cpus: u32| {
            let here = u64::from(cpus).saturating_sub((leaf * LEAF_SLOTS) as u64);
            u64::MAX.checked_shr(64 - here.min(64) as u32).unwrap_or(0) & FULL
        };
        let crowd = below(CROWD);
        match self.0.crowd_known.load(Ordering::Acquire) {
            0 => below(self.0.cpus()) & !crowd,
            _ => below(self.0.cpus()),
        }
    }

    fn occupied(&self, group: usize) -> u64 {
        let leaves = self.0.cpus().div_ceil(LEAF_SLOTS as u32);
        let here = leaves.saturating_sub(group as u32 * 64).min(64);
        u64::MAX.checked_shr(64 - here).unwrap_or(0)
    }

    fn own_quiescent(&self, cpu: CpuId) -> bool {
        self.0.look(cpu).0
    }
}
