//! The queued entries of one thread, and its committed number.
//!
//! Only one thread replaces the elements in its slots of a [target](super::target), so the thread that
//! publishes an element also disposes of it, and "everything that this thread queued" is everything queued in
//! its ledger. A ledger passes to a new owner when its short-lived thread has been joined.
//!
//! # The barrier oracle
//! Each queued entry gets the next number. `[TO-2]` once the queuing call has returned, its number is
//! committed (release). A thread about to call `barrier` reads (acquire) the committed number of every
//! ledger; when `barrier` returns, nothing up to that number may still be queued. Entries that callbacks
//! queue again are excluded: they may do so at any time.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::entry::Entry;
use super::finding::Finding;
use super::kind::Kind;

/// Slots of each sort that a thread has in a target.
pub const SLOTS: usize = 4;
/// Entries of a ledger: the number of elements that can be published and queued at a time.
const ENTRIES: usize = 2048;
/// Entries that are searched for a free one.
const LOOK: usize = 256;

/// The ledger of one thread.
pub struct Ledger {
    entries: Vec<Entry>,
    cursor: AtomicUsize,
    last: AtomicU64,
    committed: AtomicU64,
}

impl Ledger {
    /// A free entry, and the number of the element that it is for, which waits for these grace periods. Only
    /// the owner calls this.
    pub fn take(&'static self, kind: Kind, under: u32) -> Option<(&'static Entry, u64)> {
        let birth = self.number();
        let start = self.cursor.load(Ordering::Relaxed);
        for index in (start..start + LOOK).map(|index| index % ENTRIES) {
            if self.entries[index].take(birth, kind, under) {
                self.cursor.store(index + 1, Ordering::Relaxed);
                return Some((&self.entries[index], birth));
            }
        }
        self.cursor.store(start + LOOK, Ordering::Relaxed);
        None
    }

    /// The next number. Only the owner calls this.
    pub fn number(&self) -> u64 {
        let number = self.last.load(Ordering::Relaxed) + 1;
        self.last.store(number, Ordering::Relaxed);
        number
    }

    /// The call that queued this number has returned, and so have all earlier ones.
    pub fn commit(&self, number: u64) {
        self.committed.store(number, Ordering::Release); // [TO-2]
    }

    /// The last number whose queuing call has returned.
    pub fn committed(&self) -> u64 {
        self.committed.load(Ordering::Acquire) // [TO-2]
    }

    /// Checks a barrier of these grace periods that was called when `committed` was read and has returned.
    /// The thread may be preempted while it frees memory itself: `FREEING` objects are allowed.
    pub fn check_barrier(&self, committed: u64, under: u32) {
        let mut freeing = 0;
        for entry in &self.entries {
            // In this order: an entry that is still queued was taken before `committed` was read, and has
            // kept its grace periods since.
            if entry.under() == under && entry.is_queued_up_to(committed) {
                freeing += u32::from(entry.kind().plain());
                if !entry.kind().plain() || freeing > FREEING {
                    Finding::BarrierEarly.note(Some(entry.kind()), entry.word());
                }
            }
        }
    }

    /// Has everything run that its owner has queued?
    pub fn is_over(&self) -> bool {
        !self
            .entries
            .iter()
            .any(|entry| entry.is_queued_up_to(u64::MAX))
    }

    /// All of them.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter()
    }
}

impl Default for Ledger {
    fn default() -> Ledger {
        Ledger {
            entries: (0..ENTRIES).map(|_| Entry::default()).collect(),
            cursor: AtomicUsize::new(0),
            last: AtomicU64::new(0),
            committed: AtomicU64::new(0),
        }
    }
}

/// Objects without a destructor that a thread frees itself in a call that retires: a barrier does not wait
/// for them.
const FREEING: u32 = 2;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::book::entry::DOMAIN;

    #[test]
    fn entries_come_back_and_barriers_are_checked() {
        let ledger: &'static Ledger = Box::leak(Box::new(Ledger::default()));
        let (entry, _) = ledger.take(Kind::Defer, DOMAIN).expect("all are free");
        entry.removed();
        let number = ledger.number();
        let word = entry.queue(number, 0);
        ledger.check_barrier(number - 1, DOMAIN);
        assert_eq!(Finding::BarrierEarly.count(), 0);
        ledger.commit(number);
        ledger.check_barrier(ledger.committed(), 1); // another domain's barrier
        assert_eq!(Finding::BarrierEarly.count(), 0);
        ledger.check_barrier(ledger.committed(), DOMAIN);
        assert_eq!(Finding::BarrierEarly.count(), 1);
        assert!(!ledger.is_over());
        assert!(entry.complete(word) && ledger.is_over());
        ledger.check_barrier(number, DOMAIN);
        assert_eq!(Finding::BarrierEarly.count(), 1);
        // Of memory, two objects may be in the hands of their thread. (Here: a process has one count.)
        for found in [1, 1, 2] {
            let (entry, _) = ledger.take(Kind::RetirePtr, DOMAIN).expect("some are free");
            entry.removed();
            let number = ledger.number();
            entry.queue(number, 0);
            ledger.commit(number);
            ledger.check_barrier(number, DOMAIN);
            assert_eq!(Finding::BarrierEarly.count(), found, "{number}");
        }
        let taken = std::iter::from_fn(|| ledger.take(Kind::Defer, DOMAIN)).count();
        assert!(taken > ENTRIES - LOOK && taken < ENTRIES);
    }
}
