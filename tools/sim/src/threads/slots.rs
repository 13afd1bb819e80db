//! Who is registered: slots, and what the engine asks about them.
//!
//! The twin of the library's `slots.rs` and `leafmap.rs`. A slot outlives its thread: its generation is kept, and the next
//! thread with it inherits its queue. The first two slots belong to the library's *crowd* (threads that found no
//! slot), which is not modelled: nobody has them.

use std::cell::Cell;

use super::reader::Reader;
use quiescent_engine::event::{Event, GpEvent};
use quiescent_engine::{CpuId, Host, LeafId, Seen};

/// Slots of a leaf.
pub(super) const LEAF: usize = 64;
/// The slots of the crowd.
const CROWD: usize = 2;

/// A slot.
#[derive(Clone, Debug, Default)]
pub(super) struct Slot {
    pub reader: Reader,
    /// Its queue, once one of its threads has queued something.
    pub queue: Option<usize>,
}

/// All slots.
#[derive(Clone, Debug)]
pub(super) struct Slots {
    slots: Vec<Slot>,
    /// A word a leaf: who is there.
    present: Vec<u64>,
    /// Leaves at which somebody may be.
    occupied: Vec<bool>,
}

/// What the engine's events have told, since somebody took it.
#[derive(Debug, Default)]
pub(super) struct Told {
    pub started: Cell<bool>,
    pub ended: Cell<bool>,
    pub scans: Cell<u32>,
}

/// The engine's questions, answered.
pub(super) struct View<'a> {
    pub slots: &'a Slots,
    pub told: &'a Told,
}

impl Slots {
    pub fn new() -> Slots {
        Slots {
            slots: vec![Slot::default(); LEAF],
            present: vec![0],
            occupied: vec![false],
        }
    }

    pub fn slot(&mut self, cpu: usize) -> &mut Slot {
        &mut self.slots[cpu]
    }

    /// The first slot that nobody has.
    pub fn claim(&mut self) -> usize {
        let crowd = |leaf| if leaf == 0 { (1 << CROWD) - 1 } else { 0 };
        let free = |(leaf, bits): (usize, &u64)| {
            let bit = (bits | crowd(leaf)).trailing_ones() as usize;
            (bit < LEAF).then_some((leaf, bit))
        };
        let found = self.present.iter().enumerate().find_map(free);
        let (leaf, bit) = found.unwrap_or_else(|| {
            self.slots.resize(self.slots.len() + LEAF, Slot::default());
            self.present.push(0);
            self.occupied.push(false);
            (self.present.len() - 1, 0)
        });
        self.present[leaf] |= 1 << bit;
        self.occupied[leaf] = true;
        leaf * LEAF + bit
    }

    /// Its thread has ended.
    pub fn release(&mut self, cpu: usize) {
        self.present[cpu / LEAF] &= !(1 << (cpu % LEAF));
    }

    /// The engine has found a leaf empty.
    pub fn vacated(&mut self, leaf: LeafId) {
        self.occupied[leaf] = self.present[leaf] != 0;
    }

    /// Registered threads.
    #[cfg(test)]
    pub fn registered(&self) -> u32 {
        self.present.iter().map(|it| it.count_ones()).sum()
    }
}

impl Host for View<'_> {
    fn cpus(&self) -> u32 {
        self.slots.slots.len() as u32
    }

    fn observe(&self, cpu: CpuId) -> Seen {
        self.slots.slots[cpu as usize].reader.seen()
    }

    fn present(&self, leaf: LeafId) -> u64 {
        self.slots.present.get(leaf).copied().unwrap_or(0)
    }

    fn occupied(&self, group: usize) -> u64 {
        let leaves = self.slots.occupied.iter().skip(64 * group).take(64);
        let bits = leaves.enumerate().filter(|it| *it.1);
        bits.fold(0, |word, (bit, _)| word | 1 << bit)
    }

    fn own_quiescent(&self, cpu: CpuId) -> bool {
        self.observe(cpu).outside
    }

    fn trace(&self, event: &Event) {
        let Event::GracePeriod { event, .. } = event else {
            return;
        };
        match event {
            GpEvent::Start => {
                self.told.started.set(true);
                self.told.scans.set(0);
            }
            GpEvent::End => self.told.ended.set(true),
            GpEvent::Fqsstart => self.told.scans.set(self.told.scans.get() + 1),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_given_in_order_and_again() {
        let mut slots = Slots::new();
        let all: Vec<usize> = (0..100).map(|_| slots.claim()).collect();
        assert_eq!((all[0], all[61], all[62], all[99]), (2, 63, 64, 101));
        slots.release(70);
        slots.release(5);
        assert_eq!((slots.claim(), slots.claim(), slots.claim()), (5, 70, 102));
        assert_eq!(slots.registered(), 101);
    }

    #[test]
    fn an_empty_leaf_is_left_out_once_the_engine_says_so() {
        let (mut slots, told) = (Slots::new(), Told::default());
        let last = (0..63).map(|_| slots.claim()).last().unwrap();
        assert_eq!(last, 64);
        let occupied = |slots: &Slots| {
            let view = View { slots, told: &told };
            view.occupied(0)
        };
        slots.release(last);
        assert_eq!(occupied(&slots), 0b11, "nobody but the engine takes it out");
        slots.vacated(1);
        slots.vacated(0);
        assert_eq!(occupied(&slots), 0b01);
        slots.claim();
        assert_eq!(occupied(&slots), 0b11);
    }
}
