//! A seat: where one thread reads in one domain.
//!
//! It is a reader word, and two that stand in for it. A guard leads to the word itself, or, where closing the section takes
//! more than a store and a look, to a *sink*: a word that nobody reads and whose flag is always set, so that closing comes
//! the slow way, and is told by the sink's address whose section it is. One sink is for fenced mode; the other for sections nested too
//! deeply, all of which together hold one more level of the word, so that guards may still be dropped in any order.
//!
//! The slot of a thread has its seat in the process's domain ([`slots`](crate::inner::reader::threads)); its seats elsewhere are made when it reads there
//! ([`spots`](crate::inner::reader::spots)).

use std::mem::offset_of;

use crate::inner::prim::{AtomicU64, Ordering, const_new, full_fence};
use crate::inner::reader::word::{
    FLAG_CLEAR, FLAG_WAKE, NEST_LIMIT, OUTERMOST, Reader, SINK_FENCED, SINK_OVERFLOW, begin,
    nesting,
};

/// A seat.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Seat {
    pub(crate) reader: Reader,
    /// Sections beyond the nesting limit.
    overflow: AtomicU64,
    overflow_sink: Reader,
    fenced_sink: Reader,
}

impl Seat {
    const_new! {
        pub(crate) fn new() -> Seat {
            Seat {
                reader: Reader::new(0, FLAG_CLEAR),
                overflow: AtomicU64::new(0),
                overflow_sink: Reader::new(0, FLAG_CLEAR),
                fenced_sink: Reader::new(0, FLAG_CLEAR),
            }
        }
    }

    /// Makes one of zeros fit for use. The provenance of what it is in has to be exposed.
    pub(crate) fn furnish(&self) {
        self.overflow_sink
            .flag
            .store(SINK_OVERFLOW, Ordering::Relaxed);
        self.fenced_sink.flag.store(SINK_FENCED, Ordering::Relaxed);
    }

    /// The seat to which a guard's word belongs: its word or a sink, by its flag, which was just seen.
    pub(crate) fn of(reader: &'static Reader, flag: u32) -> &'static Seat {
        let offset = match flag {
            SINK_OVERFLOW => offset_of!(Seat, overflow_sink),
            SINK_FENCED => offset_of!(Seat, fenced_sink),
            _ => offset_of!(Seat, reader),
        };
        // SAFETY: the word is inside a seat, at this offset; seats live for ever, and the provenance of the whole was exposed
        // when the seat was furnished.
        unsafe { &*std::ptr::with_exposed_provenance(std::ptr::from_ref(reader).addr() - offset) }
    }

    /// Ends what this word of a guard stands for, where its flag is set. Whom a driver waits for, if he is outside by now. `crowd` leaves the
    /// crowd, by the flag of its sink.
    pub(crate) fn close<'a>(
        reader: &'static Reader,
        crowd: impl FnOnce(u32) -> Option<&'a Reader>,
    ) -> Option<&'a Reader> {
        match reader.flag.load(Ordering::Relaxed) {
            FLAG_CLEAR => None,
            flag @ (FLAG_WAKE | SINK_OVERFLOW | SINK_FENCED) => {
                let seat = Seat::of(reader, flag);
                seat.unlock_slowly(flag).then_some(&seat.reader)
            }
            sink => crowd(sink),
        }
    }

    /// Does a driver wait for what this word of a guard stands for, where its flag is set, and for no other section of its thread? `crowd` says
    /// whether one waits for the crowd's side with this sink, and how many sections of the thread are there.
    pub(crate) fn is_in_the_way(
        reader: &'static Reader,
        crowd: impl FnOnce(u32) -> (bool, u64),
    ) -> bool {
        let (flagged, nested) = match reader.flag.load(Ordering::Relaxed) {
            FLAG_CLEAR => return false,
            flag @ (FLAG_WAKE | SINK_OVERFLOW | SINK_FENCED) => {
                let seat = Seat::of(reader, flag);
                (seat.is_flagged(), seat.nesting())
            }
            sink => crowd(sink),
        };
        flagged && nested == 1
    }

    /// A section of the fast way.
    #[cfg_attr(feature = "locations", track_caller)]
    #[inline(always)]
    pub(crate) fn lock(&'static self) -> &'static Reader {
        match begin(&self.reader) {
            true => &self.reader,
            false => self.lock_overflow(),
        }
    }

    /// A section in fenced mode: the outermost lock carries the fence.
    #[cfg_attr(feature = "locations", track_caller)]
    pub(crate) fn lock_fenced(&'static self) -> &'static Reader {
        let word = self.reader.word.load(Ordering::Relaxed);
        if nesting(word) >= NEST_LIMIT {
            return self.lock_overflow();
        }
        if nesting(word) == 0 {
            self.reader
                .word
                .store(word.wrapping_add(OUTERMOST), Ordering::Release); // [RD-2]
            full_fence(); // [RD-1]
            self.reader.note_location();
        } else {
            self.reader.word.store(word + 1, Ordering::Relaxed);
        }
        &self.fenced_sink
    }

    /// Nested too deeply: all guards beyond the limit together hold one more level of the word.
    pub(crate) fn lock_overflow(&'static self) -> &'static Reader {
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

    /// Ends what `flag` says it is: a section of a sink, or nothing more. True if a driver waits for this seat, and it is empty.
    pub(crate) fn unlock_slowly(&self, flag: u32) -> bool {
        match flag {
            FLAG_WAKE => self.reader.nesting() == 0,
            SINK_OVERFLOW => self.unlock_overflow(),
            SINK_FENCED => self.unlock_fenced(),
            _ => false,
        }
    }

    fn unlock_fenced(&self) -> bool {
        let word = self.reader.word.load(Ordering::Relaxed);
        self.reader
            .word
            .store(word.wrapping_sub(1), Ordering::Release); // [RD-2]
        if nesting(word) != 1 {
            return false;
        }
        full_fence(); // [RD-3]
        self.is_flagged()
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
        nesting(word) == 1 && self.is_flagged()
    }

    /// Does a driver wait for it?
    pub(crate) fn is_flagged(&self) -> bool {
        self.reader.flag.load(Ordering::Relaxed) != FLAG_CLEAR
    }

    /// Open sections, as its owner sees it.
    pub(crate) fn nesting(&self) -> u64 {
        let beyond = self.overflow.load(Ordering::Relaxed);
        self.reader.nesting() + beyond.saturating_sub(1) // together they hold one level of the word
    }

    /// A section is open (as its owner sees it).
    pub(crate) fn is_inside(&self) -> bool {
        self.reader.nesting() != 0 || self.overflow.load(Ordering::Relaxed) != 0
    }

    /// Its thread is not in this process: no section is open. The generation stays.
    #[cfg(not(quiescent_model))]
    pub(crate) fn end(&self) {
        let word = self.reader.word.load(Ordering::Relaxed);
        let outside = word - nesting(word);
        self.reader.word.store(outside, Ordering::Release);
        self.reader.flag.store(FLAG_CLEAR, Ordering::Relaxed);
        self.overflow.store(0, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(quiescent_model)))]
mod tests;
