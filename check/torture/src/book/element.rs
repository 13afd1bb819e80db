//! The published block of memory, and a reader's checks of it.
//!
//! [`Element`] has no destructor: if it is retired itself, only the allocator sees its end.
//! [`Dropping`](super::ending::Dropping) is the same block with a destructor. Both have a mark that the
//! allocator of this crate turns into poison when the block is freed, so an early free is detected without a
//! sanitizer.

use std::cell::UnsafeCell;
use std::mem::{needs_drop, offset_of};
use std::sync::atomic::{AtomicU64, Ordering};

use quiescent::intrusive::Head;

use super::entry::Entry;
use super::finding::Finding;
use super::kind::Kind;

/// In a block that may be read.
pub const ALIVE: u64 = 0x600d_b10c_600d_b10c;
/// In a block that was freed.
pub const POISON: u64 = 0xdead_b10c_dead_b10c;

/// Blocks made so far.
pub static MADE: AtomicU64 = AtomicU64::new(0);

/// A published block. Its size and alignment are unique, so the allocator recognises it.
#[derive(Debug)]
#[repr(C, align(32))]
pub struct Element {
    /// First, so that its address is the element's.
    /// The library writes to it while readers still use the rest.
    head: UnsafeCell<Head>,
    /// An allocator that writes into freed memory writes here first, not to the mark.
    _front: [u64; 6],
    mark: AtomicU64,
    /// Its entry.
    pub entry: &'static Entry,
    /// Its number.
    pub birth: u64,
    /// The word that completes the entry, for ends without an argument.
    word: AtomicU64,
    /// The way in which it is disposed of.
    pub kind: Kind,
    _rest: [u64; 21],
}

const _: () = assert!(
    !needs_drop::<Element>(),
    "the plain kinds need a plain block"
);

// SAFETY: only the library touches the head, from the moment it is queued; everything else is atomic, or not
// written once published.
unsafe impl Send for Element {}
// SAFETY: as above.
unsafe impl Sync for Element {}

impl Element {
    /// The offset of the mark.
    pub const MARK: usize = offset_of!(Element, mark);

    /// A block for this entry. The allocator must see its end.
    pub fn new(entry: &'static Entry, birth: u64, kind: Kind) -> Element {
        MADE.fetch_add(1, Ordering::Relaxed);
        Element {
            head: UnsafeCell::new(Head::new()),
            _front: [0; 6],
            mark: AtomicU64::new(ALIVE),
            entry,
            birth,
            word: AtomicU64::new(0),
            kind,
            _rest: [0; 21],
        }
    }

    /// The mark: [`ALIVE`], or an error.
    pub fn mark(&self) -> u64 {
        self.mark.load(Ordering::Relaxed)
    }

    /// Stores the word that will complete the entry.
    pub fn set_word(&self, word: u64) {
        self.word.store(word, Ordering::Relaxed);
    }

    /// The word that completes the entry.
    pub fn word(&self) -> u64 {
        self.word.load(Ordering::Relaxed)
    }

    /// A reader's checks before it uses the element; false if it must not continue.
    pub fn check(&self) -> bool {
        let mark = self.mark();
        if mark != ALIVE {
            Finding::Poisoned.note(None, mark);
        }
        mark == ALIVE
    }
}

/// The element that a section has found.
#[derive(Debug)]
pub struct Seen<'g> {
    element: &'g Element,
    entry: &'static Entry,
    birth: u64,
    kind: Kind,
}

impl<'g> Seen<'g> {
    /// The element that a section has found, if it may be read.
    pub fn of(element: &'g Element) -> Option<Seen<'g>> {
        if element.check() && !element.entry.is_fit() {
            Finding::Unfit.note(Some(element.kind), element.birth);
        }
        if !element.check() {
            return None; // nothing of it is read
        }
        Some(Seen {
            element,
            entry: element.entry,
            birth: element.birth,
            kind: element.kind,
        })
    }

    /// Checks at the end of the section; returns kind and age, and notes every error.
    pub fn judge(&self) -> (Kind, u32) {
        let age = self.entry.age();
        if age > 1 {
            Finding::TooShort.note(Some(self.kind), u64::from(age));
        }
        if self.entry.birth() != self.birth {
            Finding::Reused.note(Some(self.kind), self.birth);
        }
        let mark = self.element.mark();
        if mark != ALIVE {
            Finding::Poisoned.note(Some(self.kind), mark);
        }
        (self.kind, age)
    }
}
