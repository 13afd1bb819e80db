//! The reader words of one thread in one domain.
//!
//! They are a reader word, and a sink that stands in for it. A guard refers to the word itself, or, if its
//! section is nested too deeply, to the *sink*: a word that no scan reads and whose flag is always set, so
//! that closing takes the slow path, which derives the words from the sink's address. All such sections
//! together hold one more level of the word, so that guards may still be dropped in any order.
//!
//! A thread's slot contains its words for the process's domain ([`threads`](crate::reader::threads)); its
//! words for another domain are created when it first reads there ([`records`](crate::reader::records)).

use std::mem::offset_of;

use crate::prim::{AtomicU64, Ordering, full_fence};
use crate::reader::unregistered::{OpenSections, Unregistered};
use crate::reader::word::{FLAG_CLEAR, FLAG_WAKE, Reader, SINK_OVERFLOW, begin, nesting};

/// The reader words of one thread in one domain.
#[derive(Debug)]
#[repr(C)]
pub struct ReaderWords {
    pub reader: Reader,
    /// Sections beyond the nesting limit.
    overflow: AtomicU64,
    overflow_sink: Reader,
}

impl ReaderWords {
    const_new! {
        pub(crate) fn new() -> ReaderWords {
            ReaderWords {
                reader: Reader::new(0, FLAG_CLEAR),
                overflow: AtomicU64::new(0),
                overflow_sink: Reader::new(0, FLAG_CLEAR),
            }
        }
    }

    /// Initializes words that consist of zeros. The caller has exposed the provenance of the containing
    /// object.
    pub fn initialize(&self) {
        self.overflow_sink
            .flag
            .store(SINK_OVERFLOW, Ordering::Relaxed);
    }

    /// The words to which a guard's word belongs: the word or a sink, according to its flag, which was just
    /// read.
    ///
    /// # Safety
    /// The word is inside a `ReaderWords`, and the flag is its own.
    unsafe fn of(reader: &'static Reader, flag: u32) -> &'static ReaderWords {
        let offset = match flag {
            SINK_OVERFLOW => offset_of!(ReaderWords, overflow_sink),
            _ => offset_of!(ReaderWords, reader),
        };
        // SAFETY: the caller's promise: inside a `ReaderWords`, at this offset; these live forever, and the
        // provenance of the whole was exposed when `initialize` was called.
        unsafe { &*std::ptr::with_exposed_provenance(std::ptr::from_ref(reader).addr() - offset) }
    }

    /// Closes the section of this guard's word, whose flag is set. Returns the reader that a driver waits
    /// for, if it is outside now. `unregistered` are those of its domain, `own` the thread's sections there.
    pub(crate) fn close(
        reader: &'static Reader,
        unregistered: &'static Unregistered,
        own: &OpenSections,
    ) -> Option<&'static Reader> {
        match reader.flag.load(Ordering::Relaxed) {
            FLAG_CLEAR => None,
            flag @ (FLAG_WAKE | SINK_OVERFLOW) => {
                // SAFETY: guards have words of `ReaderWords`, which alone have these flags.
                let words = unsafe { ReaderWords::of(reader, flag) };
                words.unlock_slowly(flag).then_some(&words.reader)
            }
            sink => unregistered.close(sink, own),
        }
    }

    /// True if a driver waits for the section of this guard's word, whose flag is set, and it is the only
    /// section of its thread. The others are as for [`close`](ReaderWords::close).
    pub(crate) fn is_in_the_way(
        reader: &'static Reader,
        unregistered: &Unregistered,
        own: &OpenSections,
    ) -> bool {
        match reader.flag.load(Ordering::Relaxed) {
            FLAG_CLEAR => false,
            flag @ (FLAG_WAKE | SINK_OVERFLOW) => {
                // SAFETY: guards have words of `ReaderWords`, which alone have these flags.
                let words = unsafe { ReaderWords::of(reader, flag) };
                words.reader.is_waited_for() && words.nesting() == 1
            }
            sink => unregistered.is_flagged(sink) && own.all() == 1,
        }
    }

    /// Opens a section on the fast path.
    #[cfg_attr(feature = "locations", track_caller)]
    #[inline(always)]
    pub fn lock(&'static self) -> &'static Reader {
        match begin(&self.reader) {
            true => &self.reader,
            false => self.lock_overflow(),
        }
    }

    /// Nested too deeply: all guards beyond the limit together hold one more level of the word.
    pub fn lock_overflow(&'static self) -> &'static Reader {
        let beyond = self.overflow.load(Ordering::Relaxed);
        self.overflow.store(beyond + 1, Ordering::Relaxed);
        if beyond == 0 {
            self.reader.word.store(
                self.reader.word.load(Ordering::Relaxed) + 1,
                Ordering::Release, // [RD-2]
            );
        }
        &self.overflow_sink
    }

    /// Ends the section that `flag` indicates: a section of a sink; for the plain word nothing is left to do.
    /// True if a driver waits for these words, and no section is open.
    pub fn unlock_slowly(&self, flag: u32) -> bool {
        match flag {
            FLAG_WAKE => self.reader.nesting() == 0,
            SINK_OVERFLOW => self.unlock_overflow(),
            _ => false,
        }
    }

    fn unlock_overflow(&self) -> bool {
        let beyond = self.overflow.load(Ordering::Relaxed);
        self.overflow.store(beyond - 1, Ordering::Relaxed);
        if beyond != 1 {
            return false;
        }
        let word = self.reader.word.load(Ordering::Relaxed);
        self.reader.word.store(word - 1, Ordering::Release); // [RD-2]
        full_fence(); // [RD-3], in either mode: this path is rare
        nesting(word) == 1 && self.reader.is_waited_for()
    }

    /// Open sections, as its owner sees it.
    pub fn nesting(&self) -> u64 {
        let beyond = self.overflow.load(Ordering::Relaxed);
        self.reader.nesting() + beyond.saturating_sub(1) // together they hold one level of the word
    }

    /// True if a section is open (as its owner sees it).
    pub fn is_inside(&self) -> bool {
        self.reader.nesting() != 0 || self.overflow.load(Ordering::Relaxed) != 0
    }

    /// Its thread is not in this process: no section is open. The generation stays.
    pub fn end(&self) {
        let word = self.reader.word.load(Ordering::Relaxed);
        let outside = word - nesting(word);
        self.reader.word.store(outside, Ordering::Release);
        self.reader.flag.store(FLAG_CLEAR, Ordering::Relaxed);
        self.reader.forgive();
        self.overflow.store(0, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(quiescent_model)))]
mod tests;
