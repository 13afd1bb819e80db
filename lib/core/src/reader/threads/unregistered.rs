//! Unregistered readers: threads without a slot, counted on two sides ([`threads`](crate::reader::threads)).

use super::{Slots, UNREGISTERED};
use crate::prim::{Ordering, full_fence};
use crate::reader::word::{FLAG_CLEAR, Reader};

impl Slots {
    /// The side of the unregistered readers that newcomers join.
    pub fn unregistered_side(&self) -> u32 {
        self.unregistered_side.load(Ordering::Relaxed) & 1
    }

    /// Joins a side of the unregistered readers; returns its sink.
    pub fn enter_unregistered(&'static self, side: u32) -> &'static Reader {
        if self.present(0) & UNREGISTERED != UNREGISTERED {
            self.all
                .first
                .bitmap
                .fetch_or(UNREGISTERED, Ordering::AcqRel);
            full_fence(); // [REG-1]
        }
        let side = side as usize & 1;
        self.all.first.slots[side]
            .words
            .reader
            .word
            .fetch_add(1, Ordering::AcqRel);
        full_fence(); // [RD-1]
        &self.unregistered_sinks[side]
    }

    /// Leaves the unregistered readers; returns the counter if a driver waits for it and it has drained.
    pub fn leave_unregistered(&'static self, side: u32) -> Option<&'static Reader> {
        let counter = &self.all.first.slots[side as usize & 1].words.reader;
        let before = counter.word.fetch_sub(1, Ordering::AcqRel); // [RD-2]
        full_fence(); // [RD-3]
        (before == 1 && counter.flag.load(Ordering::Relaxed) != FLAG_CLEAR).then_some(counter)
    }

    /// True if a driver waits for this side of the unregistered readers.
    pub fn unregistered_flagged(&self, side: u32) -> bool {
        let counter = &self.all.first.slots[side as usize & 1].words.reader;
        counter.flag.load(Ordering::Relaxed) != FLAG_CLEAR
    }
}
