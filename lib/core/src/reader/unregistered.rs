//! Unregistered readers: threads without a slot or a record.
//!
//! When none is available (the kernel refuses memory, or the configured limit is reached), readers share two
//! counters, which have the engine's numbers 0 and 1. Newcomers join the counter that the scan is not waiting
//! for, so each in turn drains. This is slow (locked instructions on shared lines), but `read_lock` never
//! fails. A zero seen after the grace period's start proves that every older section on that counter has
//! ended; no generation is needed. A thread inside a section stays on its side, and gets no slot, until the
//! last of its guards is dropped: otherwise that guard could be in a place that the grace period has already
//! scanned.
//!
//! A guard refers to the *sink* of its side: a word that no scan reads and whose flag is always set, so that
//! closing takes the slow path.

use std::sync::atomic::AtomicUsize;

use crate::prim::{AtomicU32, Ordering, full_fence};
use crate::reader::word::{FLAG_CLEAR, Reader, SINK_UNREGISTERED};

/// The counters have the first numbers of the engine.
pub const UNREGISTERED: u32 = 2;
/// Their bits, in the first leaf.
pub const RESERVED: u64 = (1 << UNREGISTERED) - 1;

/// The unregistered readers of a domain.
#[derive(Debug)]
pub struct Unregistered {
    counters: [Reader; 2],
    sinks: [Reader; 2],
    /// The side that newcomers join.
    side: AtomicU32,
    /// There has been one.
    known: AtomicU32,
}

impl Unregistered {
    const_new! {
        pub fn new() -> Unregistered {
            Unregistered {
                counters: [Reader::new(0, FLAG_CLEAR), Reader::new(0, FLAG_CLEAR)],
                sinks: [Reader::new(0, SINK_UNREGISTERED), Reader::new(0, SINK_UNREGISTERED + 1)],
                side: AtomicU32::new(0),
                known: AtomicU32::new(0),
            }
        }
    }

    /// Their bits in this leaf, if there has been one.
    pub fn present(&self, leaf: usize) -> u64 {
        match leaf == 0 && self.known.load(Ordering::Acquire) != 0 {
            true => RESERVED,
            false => 0,
        }
    }

    /// The side that newcomers join.
    pub fn side(&self) -> u32 {
        self.side.load(Ordering::Relaxed) & 1
    }

    /// The counter with this engine number.
    pub fn counter(&self, cpu: u32) -> Option<&Reader> {
        self.counters.get(cpu as usize)
    }

    /// Begins a section of a thread with these open ones; returns its sink. `None`: the thread
    /// `is_registered` by now.
    pub fn lock(
        &'static self,
        own: &OpenSections,
        is_registered: impl FnOnce() -> bool,
    ) -> Option<&'static Reader> {
        let before = own.count();
        // Before it joins: a signal handler that runs from here on joins the same side, and does not
        // register.
        let side = own.join(self.side());
        if before == 0 && is_registered() {
            own.restore(before); // a handler has registered just before
            return None;
        }
        Some(self.enter(side))
    }

    /// Joins a side; returns its sink.
    pub fn enter(&'static self, side: u32) -> &'static Reader {
        if self.known.load(Ordering::Relaxed) == 0 {
            self.known.store(1, Ordering::Release);
            full_fence(); // [REG-1]
        }
        let side = side as usize & 1;
        self.counters[side].word.fetch_add(1, Ordering::AcqRel);
        full_fence(); // [RD-1]
        &self.sinks[side]
    }

    /// Ends a section with this sink; returns the counter if a driver waits for it and it has drained.
    pub fn close(&'static self, sink: u32, own: &OpenSections) -> Option<&'static Reader> {
        let side = sink - SINK_UNREGISTERED;
        // First the counter: a handler in between runs no code that waits for what the counter holds up.
        let drained = self.leave(side);
        own.leave(side);
        drained
    }

    /// Leaves a side; returns the counter if a driver waits for it and it has drained.
    pub fn leave(&self, side: u32) -> Option<&Reader> {
        let counter = &self.counters[side as usize & 1];
        let before = counter.word.fetch_sub(1, Ordering::AcqRel); // [RD-2]
        full_fence(); // [RD-3]
        (before == 1 && counter.is_waited_for()).then_some(counter)
    }

    /// True if a driver waits for the side with this sink.
    pub fn is_flagged(&self, sink: u32) -> bool {
        self.counters[(sink - SINK_UNREGISTERED) as usize & 1].is_waited_for()
    }

    /// The result of a scan of a side: outside. `[RD-2]`
    pub fn scan(&self, side: u32) -> bool {
        let outside = self.inside(side) == 0;
        if !outside {
            // Direct newcomers to the other side, so that this one drains.
            self.side.store(1 - side, Ordering::Relaxed);
        }
        outside
    }

    /// Number of open sections on a side.
    pub fn inside(&self, side: u32) -> u64 {
        let counter = self.counter(side);
        counter.map_or(0, |counter| counter.word.load(Ordering::Acquire))
    }

    /// In the child of a fork: these are open; unknown if some may be other threads' and some those of the
    /// thread that forked.
    #[cfg(feature = "fork")]
    pub fn forked(&self, open: Option<[u64; 2]>) {
        for (side, counter) in self.counters.iter().enumerate() {
            counter.flag.store(FLAG_CLEAR, Ordering::Relaxed);
            if let Some(open) = open {
                counter.word.store(open[side], Ordering::Release);
            }
        }
    }
}

/// Sections on one side of which the next one aborts the process: three quarters of what a side can count.
const MOST_SECTIONS: u64 = 3 << (usize::BITS / 2 - 2);

/// Open sections of a thread without a record; each half of the word counts those on one side of the two
/// counters.
///
/// All its open guards are on the same side, in all domains. Otherwise a grace period that has seen the other
/// side empty would not wait for the guard that is dropped last, and guards may be dropped in any order.
#[derive(Debug)]
pub struct OpenSections(AtomicUsize);

impl OpenSections {
    /// None.
    pub const fn new() -> OpenSections {
        OpenSections(AtomicUsize::new(0))
    }

    /// One section on a side.
    fn unit(side: u32) -> usize {
        1 << (side * (usize::BITS / 2))
    }

    /// The value of the word; see [`restore`](OpenSections::restore).
    pub fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// Undoes a [`join`](OpenSections::join): restores the word.
    pub fn restore(&self, count: usize) {
        self.0.store(count, Ordering::Relaxed);
    }

    /// Adds a section; returns its side. `newcomers` is the side for a thread that has none open.
    ///
    /// Aborts the process where a side has three quarters of the sections that its half of the word can count
    /// (49 152 on 32-bit systems): forgotten guards would make it 0 while guards exist.
    pub fn join(&self, newcomers: u32) -> u32 {
        let side = match self.count() {
            0 => newcomers,
            _ => u32::from(self.sections(0) == 0),
        };
        if self.sections(side) >= MOST_SECTIONS {
            std::process::abort();
        }
        self.restore(self.count() + OpenSections::unit(side));
        side
    }

    /// Removes a section.
    pub fn leave(&self, side: u32) {
        if self.sections(side) != 0 {
            self.restore(self.count() - OpenSections::unit(side));
        }
    }

    /// Open sections on a side.
    pub fn sections(&self, side: u32) -> u64 {
        let sections = self.count() >> (side * (usize::BITS / 2));
        (sections & (OpenSections::unit(1) - 1)) as u64
    }

    /// Open sections on both sides.
    pub fn all(&self) -> u64 {
        self.sections(0) + self.sections(1)
    }
}

#[cfg(all(test, not(quiescent_model)))]
mod tests {
    use super::*;

    fn fresh() -> &'static Unregistered {
        Box::leak(Box::new(Unregistered::new()))
    }

    /// Sections of threads without a slot are counted by side; new ones leave alone the side that drains.
    #[test]
    fn sections_are_counted_by_side() {
        let them = fresh();
        assert_eq!((them.present(0), them.side()), (0, 0));
        let inside = || [0, 1].map(|side| them.inside(side));
        for side in [them.side(), 0] {
            let sink = them.enter(side);
            assert_eq!(sink.flag.load(Ordering::Relaxed), SINK_UNREGISTERED + side);
        }
        assert_eq!((them.present(0), them.present(1)), (RESERVED, 0));
        assert_eq!((inside(), them.side()), ([2, 0], 0));
        assert!(!them.scan(0) && them.scan(1));
        assert_eq!(them.side(), 1, "a scan has found sections on the other one");
        them.enter(1);
        assert_eq!((inside(), them.inside(7)), ([2, 1], 0));
    }

    /// A driver waits for a side: the last section of that side wakes it.
    #[test]
    fn the_last_section_of_a_flagged_side_wakes_the_driver() {
        let them = fresh();
        for side in [0, 1] {
            assert!(!them.is_flagged(SINK_UNREGISTERED + side));
            (0..2).for_each(|_| _ = them.enter(side));
            assert!(them.leave(side).is_none(), "one is left");
            assert!(them.leave(side).is_none(), "no driver waits");
            (0..2).for_each(|_| _ = them.enter(side));
            let flag = &them.counter(side).expect("a counter").flag;
            flag.store(FLAG_CLEAR + 1, Ordering::Relaxed);
            let both = [0, 1].map(|side| them.is_flagged(SINK_UNREGISTERED + side));
            assert_eq!(both, [side == 0, side == 1]);
            assert!(them.leave(side).is_none(), "one is left");
            let drained = them.leave(side).expect("a driver waits");
            assert!(std::ptr::eq(&raw const drained.flag, flag));
            flag.store(FLAG_CLEAR, Ordering::Relaxed);
            // Newcomers leave the side alone in which a scan finds sections.
            let _ = them.enter(side);
            assert!(!them.scan(side));
            assert_eq!(them.side(), 1 - side);
            assert!(them.leave(side).is_none() && them.scan(side));
        }
    }

    #[test]
    fn forgotten_sections_without_a_slot_end_the_process_before_their_count_is_zero() {
        for side in [0, 1] {
            let sections = (MOST_SECTIONS - 1) as usize * OpenSections::unit(side);
            let unregistered = OpenSections(AtomicUsize::new(sections));
            assert_eq!(unregistered.join(side), side);
            assert_eq!(unregistered.sections(side), MOST_SECTIONS);
            assert_eq!(unregistered.sections(1 - side), 0);
            let name = "reader::unregistered::tests::\
                forgotten_sections_without_a_slot_end_the_process_before_their_count_is_zero";
            crate::testing::aborts(name, || {
                unregistered.join(side);
            });
        }
    }
}
