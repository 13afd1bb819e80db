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

use std::panic::Location;

use crate::inner::domain::process::Process;
use crate::inner::prim::{
    self, AtomicU32, AtomicU64, CELL_CROWD, CELL_FENCED, Ordering, const_new, light_fence,
};
use crate::inner::reader::record::Seat;
use crate::inner::reader::threads::Slot;

/// One more section: generation + 1 and nesting + 1 in one addition.
pub(crate) const OUTERMOST: u64 = GENERATION + 1;
/// One generation.
const GENERATION: u64 = 1 << 16;
/// The nesting bits.
const NESTING: u64 = GENERATION - 1;
pub(crate) use crate::inner::prim::NEST_LIMIT;

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
    pub(crate) fn note_location(&self) {
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
    let reader = prim::reader();
    match begin(reader) {
        true => reader,
        false => lock_slow(),
    }
}

/// Opens a section in this word; not where the nesting is at or above the limit, which the slow way is for. (No closure for
/// that: it would hide from where it was called.)
#[cfg_attr(feature = "locations", track_caller)]
#[inline(always)]
#[must_use = "there may be no section"]
pub(crate) fn begin(reader: &'static Reader) -> bool {
    let word = reader.word.load(Ordering::Relaxed);
    if nesting(word) != 0 {
        unlikely(); // the outermost section is the straight line, without a taken branch
        return begin_nested(reader, word);
    }
    reader
        .word
        .store(word.wrapping_add(OUTERMOST), Ordering::Release); // [RD-2]
    light_fence(); // [RD-1]
    reader.note_location();
    true
}

#[inline(always)]
fn begin_nested(reader: &'static Reader, word: u64) -> bool {
    // A look at one bit, since the limit is a power of two and never exceeded by more than one.
    let fits = word & NEST_LIMIT == 0;
    if fits {
        // A release too: a scan that reads this store and finds a new generation credits the section
        // before the outer one, whose end the outer lock's store published. [RD-2]
        reader.word.store(word + 1, Ordering::Release);
    }
    fits
}

/// Tells the compiler that the branch it stands in is not the one to lay out straight.
#[cold]
#[inline]
fn unlikely() {}

/// Closes the section that returned `reader`.
#[inline(always)]
pub(crate) fn unlock(reader: &'static Reader) {
    if end(reader) {
        unlock_slow(reader);
    }
}

/// Closes a section in this word. True if its flag is set: a driver waits, or it is a sink.
#[inline(always)]
#[must_use = "a driver may be waiting"]
pub(crate) fn end(reader: &'static Reader) -> bool {
    let word = reader.word.load(Ordering::Relaxed);
    reader.word.store(word.wrapping_sub(1), Ordering::Release); // [RD-2]
    light_fence(); // [RD-3]
    prim::is_flagged(reader)
}

/// Ends this section and begins another, if somebody waits for that; returns the new word. Costs a
/// look at the flag otherwise: the section simply goes on.
#[cfg_attr(feature = "locations", track_caller)]
#[inline(always)]
pub(crate) fn repin(reader: &'static Reader) -> &'static Reader {
    if prim::is_flagged(reader) {
        return repin_slow(reader);
    }
    reader
}

/// Not registered, fenced, or nested too deeply.
#[cfg_attr(feature = "locations", track_caller)]
#[cold]
#[inline(never)]
fn lock_slow() -> &'static Reader {
    let domain = prim::domain();
    let reader = prim::reader();
    if !std::ptr::eq(reader, domain.dummy()) {
        return Slot::of(reader).seat.lock_overflow();
    }
    match domain.own_slot_or_register() {
        Some(slot) if std::ptr::eq(prim::reader(), &slot.seat.reader) => lock(),
        Some(slot) => slot.seat.lock_fenced(),
        None => lock_crowd(domain),
    }
}

/// No slot to be had: one of two shared counters, with locked instructions.
///
/// All of a thread's open guards are on the same side. Otherwise a grace period that has seen the other side empty would
/// not wait for the one that is dropped last, and guards may be dropped in any order.
fn lock_crowd(domain: &'static Process) -> &'static Reader {
    let inside = prim::tls_get(CELL_CROWD);
    let side = match inside {
        0 => domain.slots.crowd_side(),
        _ => own_side(CELL_CROWD),
    };
    // Before it joins: a handler that comes from here on joins the same side, and does not register.
    prim::tls_set(CELL_CROWD, inside + crowd_unit(side));
    if inside == 0 && domain.own_slot().is_some() {
        prim::tls_set(CELL_CROWD, inside); // one has registered just before
        return lock();
    }
    domain.slots.crowd_enter(side)
}

/// One section on a side of the crowd, in a cell of the thread: each side has half of it.
pub(crate) fn crowd_unit(side: u32) -> usize {
    1 << (side * (usize::BITS / 2))
}

/// This thread's open sections on a side of the crowd, or of those crowds that the cell counts.
pub(crate) fn crowd_sections(cell: usize, side: u32) -> u64 {
    let sections = prim::tls_get(cell) >> (side * (usize::BITS / 2));
    (sections & (crowd_unit(1) - 1)) as u64
}

/// The side that all of them are on, if there are any.
pub(crate) fn own_side(cell: usize) -> u32 {
    u32::from(crowd_sections(cell, 0) == 0)
}

/// One section less on this side.
pub(crate) fn leave_side(cell: usize, side: u32) {
    if crowd_sections(cell, side) != 0 {
        prim::tls_set(cell, prim::tls_get(cell) - crowd_unit(side));
    }
}

/// The flag was set: a driver waits for this reader, or the word is a sink.
#[cold]
#[inline(never)]
fn unlock_slow(reader: &'static Reader) {
    let domain = prim::domain();
    let waited_for = Seat::close(reader, |sink| {
        let side = sink - SINK_CROWD;
        let counter = domain.slots.crowd_leave(side);
        leave_side(CELL_CROWD, side);
        counter
    });
    if let Some(reader) = waited_for {
        domain.wake_driver(reader);
    }
}

/// Somebody waits, or the word is a sink. Only an outermost section may end here.
#[cfg_attr(feature = "locations", track_caller)]
#[cold]
#[inline(never)]
fn repin_slow(reader: &'static Reader) -> &'static Reader {
    let in_the_way = Seat::is_in_the_way(reader, |sink| {
        let flagged = prim::domain().slots.crowd_flagged(sink - SINK_CROWD);
        (
            flagged,
            crowd_sections(CELL_CROWD, 0) + crowd_sections(CELL_CROWD, 1),
        )
    });
    if in_the_way {
        unlock(reader);
        return lock();
    }
    reader
}

/// Is this thread inside a section?
pub(crate) fn in_section() -> bool {
    let reader = prim::reader();
    if !std::ptr::eq(reader, prim::domain().dummy()) && Slot::of(reader).is_inside() {
        return true;
    }
    own_fenced_slot().is_some_and(Slot::is_inside) || prim::tls_get(CELL_CROWD) != 0
}

/// The slot of a thread in fenced mode.
pub(crate) fn own_fenced_slot() -> Option<&'static Slot> {
    match prim::tls_get(CELL_FENCED) {
        0 => None,
        // SAFETY: only registration writes the cell, from a 'static reference it exposed.
        address => Some(unsafe { &*std::ptr::with_exposed_provenance::<Slot>(address) }),
    }
}

#[cfg(all(test, not(quiescent_model)))]
mod tests;
