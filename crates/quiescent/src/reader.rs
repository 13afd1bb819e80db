//! The reader word: what `read_lock` and `read_unlock` compile to, and their slow paths.
//!
//! ```text
//!  63            16 15             0
//! ┌────────────────┬────────────────┐
//! │   generation   │    nesting     │   written by its owner only, with plain stores
//! └────────────────┴────────────────┘
//! ```
//!
//! * **lock**, outermost: one addition advances the generation and makes the nesting 1. Nested: +1.
//! * **unlock**: one decrement, then a look at the wake flag, a word of its own (a scanner's write into
//!   a word its owner updates with plain stores would be lost).
//! * A scan credits nesting 0; a later scan also a changed generation.
//!
//! # Slow path
//! Whatever is not the common case has a nesting at or above [`NEST_LIMIT`] and is found on the nested
//! path, where it costs the fast path nothing: a thread that is not registered yet (its word is the
//! *dummy*, saturated for ever), fenced mode (the thread-local never leaves the dummy), and a section
//! nested too deeply. A guard made there points to a *sink*: a word nobody reads, whose flag is always
//! set, so that unlock takes its slow path and undoes the right thing.
//!
//! # Signal handlers
//! A handler may read at any instruction. Between the load and the store of an interrupted lock or
//! unlock it sees a consistent word, and leaves the nesting as it found it; the stale store that
//! follows can repeat an old generation, which loses a credit and never invents one. Every other
//! change here is an addition that a handler undoes before it returns.
//!
//! # Ordering
//! `[RD-1]` lock: the store of the word, *light fence*, then the section. Pairs with the heavy fence
//! `[GP-1]`: if the scan does not see the word, the section sees every update made before the grace
//! period. `[RD-2]` lock and unlock: the store of the word is a release; the scan's load acquires: a
//! credit implies that the old section's accesses are over. (The lock's store too: it publishes a new
//! generation, and with it the end of the section before.) `[RD-3]` unlock: the store of the word,
//! *light fence*, then the load of the flag. Pairs with `[GP-2]`, the fence between flags and the last
//! look. In fenced mode the light fences of RD-1 and RD-3 are full ones.

use std::mem::offset_of;
use std::panic::Location;

use crate::domain::Domain;
use crate::slots::Slot;
use crate::sync::{
    self, AtomicU32, AtomicU64, CELL_CROWD, CELL_FENCED, Ordering, const_new, full_fence,
    light_fence,
};

/// One more section: generation + 1 and nesting + 1 in one addition.
const OUTERMOST: u64 = GENERATION + 1;
/// One generation.
const GENERATION: u64 = 1 << 16;
/// The nesting bits.
const NESTING: u64 = GENERATION - 1;
pub(crate) use crate::sync::NEST_LIMIT;

/// The flag is clear.
pub(crate) const FLAG_CLEAR: u32 = 0;
/// A driver waits for this reader: wake it when the section ends.
pub(crate) const FLAG_WAKE: u32 = 1;
/// This is the sink of a thread whose nesting overflowed.
pub(crate) const SINK_OVERFLOW: u32 = 2;
/// This is the sink of a thread in fenced mode.
pub(crate) const SINK_FENCED: u32 = 3;
/// This is the sink of the crowd's first counter; the next value is the second's.
pub(crate) const SINK_CROWD: u32 = 4;

/// A reader word and its wake flag.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Reader {
    pub(crate) word: AtomicU64,
    pub(crate) flag: AtomicU32,
    /// Where the outermost section was opened. It says where, and decides nothing.
    #[cfg(feature = "locations")]
    location: std::sync::atomic::AtomicPtr<Location<'static>>,
}

impl Reader {
    const_new! {
        pub(crate) fn new(word: u64, flag: u32) -> Reader {
            Reader {
                word: AtomicU64::new(word),
                flag: AtomicU32::new(flag),
                #[cfg(feature = "locations")]
                location: std::sync::atomic::AtomicPtr::new(std::ptr::null_mut()),
            }
        }
    }

    const_new! {
        /// The word of every thread that has no slot: saturated.
        pub(crate) fn new_dummy() -> Reader {
            Reader::new(NESTING, FLAG_CLEAR)
        }
    }

    /// The outermost section was opened just now. Noted *after* the word is stored: a handler that comes before
    /// that is overwritten, and one that comes after it is not outermost.
    #[cfg_attr(feature = "locations", track_caller)]
    #[inline(always)]
    fn note_location(&self) {
        #[cfg(feature = "locations")]
        self.location.store(
            std::ptr::from_ref(Location::caller()).cast_mut(),
            Ordering::Relaxed,
        );
    }

    /// Where the outermost section was opened, if that is noted.
    pub(crate) fn location(&self) -> Option<&'static Location<'static>> {
        #[cfg(feature = "locations")]
        // SAFETY: null, or what `note_location` stored.
        return unsafe { self.location.load(Ordering::Relaxed).as_ref() };
        #[cfg(not(feature = "locations"))]
        None
    }

    /// Open sections, as its owner sees it.
    pub(crate) fn nesting(&self) -> u64 {
        nesting(self.word.load(Ordering::Relaxed))
    }
}

/// Open sections in this word.
pub(crate) fn nesting(word: u64) -> u64 {
    word & NESTING
}

/// Generation in this word.
pub(crate) fn generation(word: u64) -> u64 {
    word / GENERATION
}

/// Opens a section and returns the word that [`unlock`] closes.
#[cfg_attr(feature = "locations", track_caller)]
#[inline(always)]
pub(crate) fn lock() -> &'static Reader {
    let reader = sync::reader();
    let word = reader.word.load(Ordering::Relaxed);
    if nesting(word) != 0 {
        unlikely(); // the outermost section is the straight line, without a taken branch
        return lock_nested(reader, word);
    }
    reader
        .word
        .store(word.wrapping_add(OUTERMOST), Ordering::Release); // [RD-2]
    light_fence(); // [RD-1]
    reader.note_location();
    reader
}

/// Tells the compiler that the branch it stands in is not the one to lay out straight.
#[cold]
#[inline]
fn unlikely() {}

#[cfg_attr(feature = "locations", track_caller)]
#[inline(always)]
fn lock_nested(reader: &'static Reader, word: u64) -> &'static Reader {
    if nesting(word) >= NEST_LIMIT {
        return lock_slow();
    }
    // A release too: a scan that reads this store and finds a new generation credits the section
    // before the outer one, whose end the outer lock's store published. [RD-2]
    reader.word.store(word + 1, Ordering::Release);
    reader
}

/// Closes the section that returned `reader`.
#[inline(always)]
pub(crate) fn unlock(reader: &'static Reader) {
    let word = reader.word.load(Ordering::Relaxed);
    reader.word.store(word.wrapping_sub(1), Ordering::Release); // [RD-2]
    light_fence(); // [RD-3]
    if sync::is_flagged(reader) {
        unlock_slow(reader);
    }
}

/// Ends this section and begins another, if somebody waits for that; returns the new word. Costs a
/// look at the flag otherwise: the section simply goes on.
#[cfg_attr(feature = "locations", track_caller)]
#[inline(always)]
pub(crate) fn repin(reader: &'static Reader) -> &'static Reader {
    if sync::is_flagged(reader) {
        return repin_slow(reader);
    }
    reader
}

/// Not registered, fenced, or nested too deeply.
#[cfg_attr(feature = "locations", track_caller)]
#[cold]
#[inline(never)]
fn lock_slow() -> &'static Reader {
    let domain = sync::domain();
    let reader = sync::reader();
    if !std::ptr::eq(reader, domain.dummy()) {
        return lock_overflow(Slot::of(reader));
    }
    match domain.own_slot_or_register() {
        Some(slot) if std::ptr::eq(sync::reader(), &slot.reader) => lock(),
        Some(slot) => lock_fenced(slot),
        None => lock_crowd(domain),
    }
}

/// A section of a thread in fenced mode: the outermost lock carries the fence.
#[cfg_attr(feature = "locations", track_caller)]
fn lock_fenced(slot: &'static Slot) -> &'static Reader {
    let word = slot.reader.word.load(Ordering::Relaxed);
    if nesting(word) >= NEST_LIMIT {
        return lock_overflow(slot);
    }
    if nesting(word) == 0 {
        slot.reader
            .word
            .store(word.wrapping_add(OUTERMOST), Ordering::Release); // [RD-2]
        full_fence(); // [RD-1]
        slot.reader.note_location();
    } else {
        slot.reader.word.store(word + 1, Ordering::Relaxed);
    }
    &slot.fenced_sink
}

/// Nested too deeply: all guards beyond the limit together hold one more level of the word, so that
/// guards may still be dropped in any order.
fn lock_overflow(slot: &'static Slot) -> &'static Reader {
    let beyond = slot.overflow.load(Ordering::Relaxed);
    slot.overflow.store(beyond + 1, Ordering::Relaxed);
    if beyond == 0 {
        slot.reader.word.store(
            slot.reader.word.load(Ordering::Relaxed) + 1,
            Ordering::Release, // [RD-2]
        );
    }
    &slot.overflow_sink
}

/// No slot to be had: one of two shared counters, with locked instructions.
///
/// All of a thread's open guards are on the same side. Otherwise a grace period that has seen the other side empty would
/// not wait for the one that is dropped last, and guards may be dropped in any order.
fn lock_crowd(domain: &'static Domain) -> &'static Reader {
    let inside = sync::tls_get(CELL_CROWD);
    let side = match inside {
        0 => domain.slots.crowd_side(),
        _ => u32::from(crowd_sections(0) == 0),
    };
    // Before it joins: a handler that comes from here on joins the same side, and does not register.
    sync::tls_set(CELL_CROWD, inside + crowd_unit(side));
    if inside == 0 && domain.own_slot().is_some() {
        sync::tls_set(CELL_CROWD, inside); // one has registered just before
        return lock();
    }
    domain.slots.crowd_enter(side)
}

/// One section on a side of the crowd, in the thread's cell: each side has half of it.
fn crowd_unit(side: u32) -> usize {
    1 << (side * (usize::BITS / 2))
}

/// This thread's open sections on a side of the crowd.
pub(crate) fn crowd_sections(side: u32) -> u64 {
    let sections = sync::tls_get(CELL_CROWD) >> (side * (usize::BITS / 2));
    (sections & (crowd_unit(1) - 1)) as u64
}

/// The flag was set: a driver waits for this reader, or the word is a sink.
#[cold]
#[inline(never)]
fn unlock_slow(reader: &'static Reader) {
    let domain = sync::domain();
    match reader.flag.load(Ordering::Relaxed) {
        FLAG_CLEAR => {}
        FLAG_WAKE if reader.nesting() == 0 => domain.wake_driver(reader),
        FLAG_WAKE => {}
        SINK_OVERFLOW => unlock_overflow(Slot::of_sink(reader, offset_of!(Slot, overflow_sink))),
        SINK_FENCED => unlock_fenced(domain, Slot::of_sink(reader, offset_of!(Slot, fenced_sink))),
        crowd => {
            let side = crowd - SINK_CROWD;
            let counter = domain.slots.crowd_leave(side);
            if crowd_sections(side) != 0 {
                sync::tls_set(CELL_CROWD, sync::tls_get(CELL_CROWD) - crowd_unit(side));
            }
            if let Some(counter) = counter {
                domain.wake_driver(counter);
            }
        }
    }
}

fn unlock_fenced(domain: &Domain, slot: &'static Slot) {
    let word = slot.reader.word.load(Ordering::Relaxed);
    slot.reader
        .word
        .store(word.wrapping_sub(1), Ordering::Release); // [RD-2]
    if nesting(word) == 1 {
        full_fence(); // [RD-3]
        if slot.reader.flag.load(Ordering::Relaxed) != FLAG_CLEAR {
            domain.wake_driver(&slot.reader);
        }
    }
}

fn unlock_overflow(slot: &'static Slot) {
    let beyond = slot.overflow.load(Ordering::Relaxed);
    slot.overflow.store(beyond - 1, Ordering::Relaxed);
    if beyond == 1 {
        let word = slot.reader.word.load(Ordering::Relaxed);
        slot.reader.word.store(word - 1, Ordering::Release); // [RD-2]
        full_fence(); // [RD-3], in either mode: this path is rare
        if nesting(word) == 1 && slot.reader.flag.load(Ordering::Relaxed) != FLAG_CLEAR {
            sync::domain().wake_driver(&slot.reader);
        }
    }
}

/// Somebody waits, or the word is a sink. Only an outermost section may end here.
#[cfg_attr(feature = "locations", track_caller)]
#[cold]
#[inline(never)]
fn repin_slow(reader: &'static Reader) -> &'static Reader {
    let (flagged, nested) = match reader.flag.load(Ordering::Relaxed) {
        FLAG_WAKE => (true, reader.nesting()),
        SINK_FENCED => {
            let real = &Slot::of_sink(reader, offset_of!(Slot, fenced_sink)).reader;
            (
                real.flag.load(Ordering::Relaxed) != FLAG_CLEAR,
                real.nesting(),
            )
        }
        SINK_OVERFLOW => {
            // All guards beyond the limit hold one level of the word together.
            let slot = Slot::of_sink(reader, offset_of!(Slot, overflow_sink));
            let beyond = slot.overflow.load(Ordering::Relaxed);
            (
                slot.reader.flag.load(Ordering::Relaxed) != FLAG_CLEAR,
                slot.reader.nesting() + beyond - 1,
            )
        }
        flag if flag >= SINK_CROWD => (
            sync::domain().slots.crowd_flagged(flag - SINK_CROWD),
            crowd_sections(0) + crowd_sections(1),
        ),
        _ => (false, 0),
    };
    if flagged && nested == 1 {
        unlock(reader);
        return lock();
    }
    reader
}

/// Is this thread inside a section?
pub(crate) fn in_section() -> bool {
    let reader = sync::reader();
    let nested =
        |slot: &Slot| slot.reader.nesting() != 0 || slot.overflow.load(Ordering::Relaxed) != 0;
    if !std::ptr::eq(reader, sync::domain().dummy()) && nested(Slot::of(reader)) {
        return true;
    }
    own_fenced_slot().is_some_and(nested) || sync::tls_get(CELL_CROWD) != 0
}

/// The slot of a thread in fenced mode.
pub(crate) fn own_fenced_slot() -> Option<&'static Slot> {
    match sync::tls_get(CELL_FENCED) {
        0 => None,
        // SAFETY: only registration writes the cell, from a 'static reference it exposed.
        address => Some(unsafe { &*std::ptr::with_exposed_provenance::<Slot>(address) }),
    }
}
