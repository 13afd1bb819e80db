//! The pipe: an entry for everything that is published and queued. Entries are never freed.
//!
//! * **Age** (the classic oracle): 0 while published, 1 once removed, one more for each grace period that has
//!   passed for it. A section that found the element sees 0 or 1 until it ends.
//! * **Word**: the right to complete it. `number << 8 | stage << 2 | phase`. The number is new each time the
//!   owner queues an entry, the stage counts how often callbacks queued it again. A callback carries the word
//!   with which it was queued, and completes the entry by exchanging exactly that word: a second run finds
//!   another one. This is the exactly-once oracle.
//! * **Fit** (the classic `mbtest`): set before an element is published, cleared at the end of its entry. A
//!   reader that finds the element unfit has seen a pointer without the earlier stores, or an element that
//!   has ended.
//!
//! # Correctness
//! Accesses to the age are relaxed: the grace period under test orders a section's load before the increment.
//! An entry is used again only when it is free, and by its owner only; `[TO-1]` completing is an
//! acquire-release exchange and the owner's load of a free word acquires, so the next use's stores come after
//! the previous one's.

use std::cell::UnsafeCell;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};

use quiescent::intrusive::Head;

use super::finding::Finding;
use super::kind::Kind;

/// Free: the word of a new entry.
const FREE: u64 = 0;
/// Published, or just completed.
const HELD: u64 = 1;
/// Waits for a grace period.
const QUEUED: u64 = 2;
const PHASE: u64 = 3;
const STAGE: u64 = 1 << 2;
const NUMBER: u64 = 1 << 8;

/// The number that stands for the global domain's grace periods.
pub const DOMAIN: u32 = 0;
/// The number of entries that no barrier has to cover.
pub const NO_NUMBER: u64 = u64::MAX / NUMBER;

/// The age up to which callbacks queue an entry again.
pub const OLDEST: u32 = 10;

/// One entry of the pipe. It is free at first.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Entry {
    /// The head with which it is queued without a block of memory. First, so that its address is the entry's.
    head: UnsafeCell<Head>,
    word: AtomicU64,
    birth: AtomicU64,
    /// The time at which it was queued, in ticks of the watchdog.
    since: AtomicU32,
    age: AtomicU32,
    kind: AtomicU8,
    fit: AtomicBool,
    /// The grace periods for which its element waits.
    under: AtomicU32,
}

// SAFETY: only the thread that completed the entry (one, by [TO-1]) touches the head until it is queued, and
// then only the library.
unsafe impl Sync for Entry {}
// SAFETY: as above.
unsafe impl Send for Entry {}

impl Entry {
    /// Takes a free entry for an element that will be published. Only its owner calls this.
    pub fn take(&self, birth: u64, kind: Kind, under: u32) -> bool {
        // Acquire: [TO-1].
        if self.word.load(Ordering::Acquire) & PHASE != FREE {
            return false;
        }
        self.age.store(0, Ordering::Relaxed);
        self.birth.store(birth, Ordering::Relaxed);
        self.kind.store(kind as u8, Ordering::Relaxed);
        self.under.store(under, Ordering::Relaxed);
        self.word.store(HELD, Ordering::Relaxed);
        true
    }

    /// Its element may be found from now on. Called before the element is published.
    pub fn make_fit(&self) {
        self.fit.store(true, Ordering::Relaxed); // the publication orders it: [TO-3]
    }

    /// May readers find its element?
    pub fn is_fit(&self) -> bool {
        self.fit.load(Ordering::Relaxed)
    }

    /// The element has just been unpublished.
    pub fn removed(&self) {
        self.age.store(1, Ordering::Relaxed);
    }

    /// Called by the owner before it queues the entry; returns the word that completes it.
    pub fn queue(&self, number: u64, now: u32) -> u64 {
        let word = (number * NUMBER) | QUEUED;
        self.since.store(now, Ordering::Relaxed);
        self.word.store(word, Ordering::Release); // for the watchdog's read of `since`
        word
    }

    /// A grace period has passed. Was the entry queued with this word, and is it completed for the first
    /// time?
    pub fn complete(&self, word: u64) -> bool {
        let done = (word & !PHASE) | HELD;
        let exchanged = self
            .word
            .compare_exchange(word, done, Ordering::AcqRel, Ordering::Relaxed); // [TO-1]
        match exchanged {
            Ok(_) => {
                self.age.fetch_add(1, Ordering::Relaxed);
                true
            }
            Err(found) => {
                Finding::RanTwice.note(Some(self.kind()), found);
                false
            }
        }
    }

    /// Called before the callback that completed the entry queues it again; returns the word that completes
    /// it.
    pub fn queue_again(&self, now: u32) -> u64 {
        let word = ((self.word.load(Ordering::Relaxed) & !PHASE) + STAGE) | QUEUED;
        self.since.store(now, Ordering::Relaxed);
        self.word.store(word, Ordering::Release);
        word
    }

    /// Frees the entry. The callback that completed it calls this.
    pub fn release(&self) {
        self.fit.store(false, Ordering::Relaxed);
        self.word.store(FREE, Ordering::Release); // [TO-1]
    }

    /// Its head, with the right to the whole entry.
    pub fn head(&'static self) -> NonNull<Head> {
        NonNull::from(self).cast()
    }

    /// Is it still queued with this word?
    pub fn is_queued(&self, word: u64) -> bool {
        self.word.load(Ordering::Relaxed) == word
    }

    /// Is it queued by its owner, with a number up to this one?
    pub fn is_queued_up_to(&self, number: u64) -> bool {
        let word = self.word.load(Ordering::Relaxed);
        let by_owner = word & (NUMBER - STAGE) == 0;
        word & PHASE == QUEUED && by_owner && word / NUMBER <= number
    }

    /// The time at which it was queued, in the watchdog's ticks, if it is queued.
    pub fn queued_since(&self) -> Option<u32> {
        let queued = self.word.load(Ordering::Acquire) & PHASE == QUEUED;
        queued.then(|| self.since.load(Ordering::Relaxed))
    }

    /// Is it free?
    pub fn is_free(&self) -> bool {
        self.word.load(Ordering::Acquire) & PHASE == FREE
    }

    /// Grace periods since its removal, plus one for the removal.
    pub fn age(&self) -> u32 {
        self.age.load(Ordering::Relaxed)
    }

    /// The number of its element.
    pub fn birth(&self) -> u64 {
        self.birth.load(Ordering::Relaxed)
    }

    /// The grace periods for which its element waits: [`DOMAIN`], or the number of a [target](super::target).
    pub fn under(&self) -> u32 {
        self.under.load(Ordering::Relaxed)
    }

    /// The kind of the present or last wait.
    pub fn kind(&self) -> Kind {
        Kind::ALL[usize::from(self.kind.load(Ordering::Relaxed))]
    }

    /// The word as a text, for reports.
    pub fn word(&self) -> u64 {
        self.word.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_life() {
        let entry = Entry::default();
        assert!(entry.take(7, Kind::Defer, 3) && !entry.take(8, Kind::Defer, DOMAIN));
        assert!(!entry.is_fit());
        assert_eq!(entry.under(), 3);
        entry.make_fit();
        entry.removed();
        let word = entry.queue(40, 3);
        assert!(entry.is_queued(word) && entry.is_queued_up_to(40) && !entry.is_queued_up_to(39));
        assert_eq!((entry.queued_since(), entry.age()), (Some(3), 1));
        assert!(entry.complete(word));
        let again = entry.queue_again(4);
        assert_ne!(again, word);
        assert!(
            !entry.is_queued_up_to(u64::MAX),
            "a callback has queued it again"
        );
        assert!(entry.complete(again));
        assert_eq!(
            (entry.age(), entry.birth(), entry.kind()),
            (3, 7, Kind::Defer)
        );
        entry.release();
        assert!(!entry.is_fit() && entry.is_free() && entry.take(9, Kind::Poll, DOMAIN));
        assert_eq!(entry.age(), 0);
    }

    #[test]
    fn a_second_run_is_noticed() {
        let entry = Entry::default();
        assert!(entry.take(1, Kind::DeferHead, DOMAIN));
        let word = entry.queue(1, 0);
        assert!(entry.complete(word));
        let before = Finding::RanTwice.count();
        assert!(!entry.complete(word));
        assert!(Finding::RanTwice.count() > before);
    }
}
