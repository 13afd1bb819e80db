//! The reader word: the fast paths of `read_lock` and `read_unlock`, and the conditions for their slow paths.
//!
//! ```text
//!  63            16 15             0
//! ┌────────────────┬────────────────┐
//! │   generation   │    nesting     │   written by its owner only, with plain stores
//! └────────────────┴────────────────┘
//! ```
//!
//! * **lock**, outermost: one addition advances the generation and makes the nesting 1. Nested: +1.
//! * **unlock**: one decrement, then a load of the wake flag, which is a separate word (a scanner's write
//!   into a word that its owner updates with plain stores would be lost).
//! * A scan credits nesting 0; a later scan also a changed generation.
//!
//! # Slow path
//! Every uncommon case has the bit [`NEST_LIMIT`] in its nesting and is detected on the nested path, so it
//! costs the fast path nothing: a thread that is not registered yet (its word is the *dummy*, which has only
//! this bit), fenced mode, and a section nested too deeply. A guard of an unregistered reader or beyond the
//! limit points to a *sink*: a word that no scan reads, whose flag is always set, so that unlock takes its
//! slow path, which the flag's value selects.
//!
//! # Fenced mode
//! The word of a thread that executes fences has two bits more in its nesting, [`FENCED_OUTSIDE`], also while
//! it is outside. So its lock is beside the straight line, and inline all the same: one store with a fence
//! (`xchg` on x86-64). Unlock is that of the other mode: a store, a load, and no fence.
//!
//! Without a fence, a store of the word and the load of the flag behind it may be exchanged: the reader sees
//! no flag while the driver sees it inside, and no one wakes the driver. That lasts as long as the store is
//! in the reader's processor, a part of a microsecond. So who waits for a reader in this mode sleeps for a
//! short time first, and for ever longer ones after that ([`nap_ns`]): the first look after the store has
//! arrived finds the reader outside. `[RD-4]`
//!
//! # Signal handlers
//! A handler may read at any instruction. Between the load and the store of an interrupted lock or unlock it
//! sees a consistent word, and restores the nesting; the stale store that follows can repeat an old
//! generation, which loses a credit and never invents one. Every other change here is an addition that a
//! handler undoes before it returns.
//!
//! # Ordering
//! `[RD-1]` lock: the store of the word, *light fence*, then the section. Pairs with the heavy fence
//! `[GP-1]`: if the scan does not see the word, the section sees every update made before the grace period.
//! `[RD-2]` lock and unlock: the store of the word is a release; the scan's load acquires: a credit implies
//! that the old section's accesses are over. (The lock's store too: it publishes a new generation, and with
//! it the end of the section before.) `[RD-3]` unlock: the store of the word, *light fence*, then the load of
//! the flag. Pairs with `[GP-2]`, the fence between flags and the last scan. In fenced mode the light
//! fence of RD-1 is a full one, and RD-4 is in the place of RD-3.

use std::panic::Location;
use std::sync::atomic::AtomicU16;
use std::sync::atomic::Ordering::Relaxed;

use quiescent_engine::Seen;

use crate::prim::{AtomicU32, AtomicU64, Ordering, light_fence, store_and_fence};

/// Half of the word that an unlock tests beside the flag. (Models have no atomics of 16 bits.)
#[cfg(not(quiescent_model))]
type AskWord = AtomicU16;
#[cfg(quiescent_model)]
type AskWord = AtomicU32;

/// An outermost section: generation + 1 and nesting + 1 in one addition.
pub const OUTERMOST: u64 = GENERATION + 1;
/// The nesting of a thread outside that executes fences.
pub const FENCED_OUTSIDE: u64 = NEST_LIMIT | FENCED;
/// Marks, beside the limit's bit, the word of a thread that executes fences. (Other words have one of the two
/// at most: beyond the limit their nesting grows by one.)
const FENCED: u64 = 1 << 14;
/// The nesting bits of such a word.
const FENCED_NESTING: u64 = if NEST_LIMIT < FENCED {
    NEST_LIMIT
} else {
    FENCED
} - 1;
/// From this nesting on such a lock takes the slow path.
const FENCED_LIMIT: u64 = FENCED_NESTING.div_ceil(2);

/// The first sleep of a thread that waits for readers that execute fences. `[RD-4]`
const FIRST_NAP_NS: u64 = 100_000;
/// The longest.
const LONGEST_NAP_NS: u64 = 1_000_000_000;

/// The longest sleep of a thread that has waited `naps` times for the same readers. `[RD-4]`
pub fn nap_ns(naps: u32) -> u64 {
    let doubled = FIRST_NAP_NS.saturating_mul(1 << naps.min(32));
    doubled.min(LONGEST_NAP_NS)
}

/// One generation.
const GENERATION: u64 = 1 << 16;
/// The nesting bits.
const NESTING: u64 = GENERATION - 1;
pub use crate::prim::NEST_LIMIT;

/// The flag is clear.
pub const FLAG_CLEAR: u32 = 0;
/// A driver waits for this reader: wake it when the section ends.
pub const FLAG_WAKE: u32 = 1;
/// This is the sink of a thread whose nesting overflowed.
pub const SINK_OVERFLOW: u32 = 2;
/// This is the sink of the unregistered readers' first counter; the next value is the second's.
pub const SINK_UNREGISTERED: u32 = 3;

/// Marks a debt of destructors.
const OWES: u16 = 1 << 15;

/// A reader word and its wake flag.
#[derive(Debug)]
#[repr(C)]
pub struct Reader {
    /// Generation and nesting.
    pub word: AtomicU64,
    /// The wake flag, or the kind of sink.
    pub(crate) flag: AtomicU32,
    /// Not 0: the thread is asked for a fence ([`asking`](crate::prim::asking)). Beside the flag, so that an
    /// unlock tests both with one instruction; a word of its own, so that no driver is woken for a question.
    ask: AskWord,
    /// Not 0: its thread is to run destructors when the section of this generation ends: [`OWES`] and the low
    /// bits of the generation. Only its thread, and handlers on it, use it.
    owed: AtomicU16,
    /// Drivers may ask for fences. Most scenarios have no such driver, and are explored without this test.
    #[cfg(quiescent_model)]
    asks: std::sync::atomic::AtomicBool,
    /// Where the outermost section was opened. For reports only.
    #[cfg(feature = "locations")]
    location: std::sync::atomic::AtomicPtr<Location<'static>>,
}

impl Reader {
    const_new! {
        /// Not for other crates: closing a section follows the flag to what contains the word.
        pub(crate) fn new(word: u64, flag: u32) -> Reader {
            Reader {
                word: AtomicU64::new(word),
                flag: AtomicU32::new(flag),
                ask: AskWord::new(0),
                owed: AtomicU16::new(0),
                #[cfg(quiescent_model)]
                asks: std::sync::atomic::AtomicBool::new(false),
                #[cfg(feature = "locations")]
                location: std::sync::atomic::AtomicPtr::new(std::ptr::null_mut()),
            }
        }
    }

    const_new! {
        /// The word of every thread that has no slot: at the limit.
        pub(crate) fn new_dummy() -> Reader {
            Reader::new(NEST_LIMIT, FLAG_CLEAR)
        }
    }

    /// Notes where the outermost section was opened. Called *after* the word is stored: a handler's note
    /// before that is overwritten, and a handler's section after it is not outermost.
    #[cfg_attr(feature = "locations", track_caller)]
    #[inline(always)]
    pub fn note_location(&self) {
        #[cfg(feature = "locations")]
        self.location.store(
            std::ptr::from_ref(Location::caller()).cast_mut(),
            Ordering::Relaxed,
        );
    }

    /// Where the outermost section was opened, if that is noted.
    pub fn location(&self) -> Option<&'static Location<'static>> {
        #[cfg(feature = "locations")]
        // SAFETY: null, or a value that `note_location` stored.
        return unsafe { self.location.load(Ordering::Relaxed).as_ref() };
        #[cfg(not(feature = "locations"))]
        None
    }

    /// Sets whether drivers may ask for fences from now on. It has an effect in models only.
    pub fn allow_asking(&self, _allow: bool) {
        #[cfg(quiescent_model)]
        self.asks
            .store(_allow, std::sync::atomic::Ordering::Relaxed);
    }

    /// The same as in another word of its thread.
    pub fn allow_asking_as(&self, _other: &Reader) {
        #[cfg(quiescent_model)]
        self.allow_asking(_other.asks.load(std::sync::atomic::Ordering::Relaxed));
    }

    /// Asks its thread for a fence. The question has its number already.
    pub fn ask(&self) {
        self.ask.store(1, Ordering::Release);
    }

    /// True if its thread is asked for a fence.
    #[inline(always)]
    pub fn is_asked(&self) -> bool {
        #[cfg(quiescent_model)]
        if !self.asks.load(std::sync::atomic::Ordering::Relaxed) {
            return false;
        }
        self.ask.load(Ordering::Acquire) != 0 // the question's number is visible, too
    }

    /// Its thread is about to answer.
    pub fn unask(&self) {
        self.ask.store(0, Ordering::Relaxed);
    }

    /// Its thread, which is inside a section of this word, is to run destructors at the end of the outermost
    /// one.
    pub fn owe(&self) {
        let section = generation(self.word.load(Ordering::Relaxed)) as u16;
        self.owed.store(section | OWES, Relaxed);
    }

    /// True if its thread is to run destructors at the end of the outermost section.
    #[inline(always)]
    pub fn owes(&self) -> bool {
        self.owed.load(Relaxed) != 0
    }

    /// A section of this word has ended. True, once, if its thread is to run destructors now.
    ///
    /// Not in a signal handler that has read between the end of that section and the test of the flag in the
    /// code that it interrupted: the handler's section has another generation.
    #[inline(never)]
    pub fn settles(&self) -> bool {
        let word = self.word.load(Ordering::Relaxed);
        if nesting(word) != 0 || !self.owes() {
            return false;
        }
        let owed = self.owed.load(Relaxed);
        self.forgive();
        owed == generation(word) as u16 | OWES
    }

    /// The same question before an outermost section of this word ends.
    pub fn is_about_to_settle(&self) -> bool {
        self.owes() && self.nesting() == 1
    }

    /// Its thread owes nothing.
    pub fn forgive(&self) {
        self.owed.store(0, Relaxed);
    }

    /// Sets whether its thread executes fences. No section is open.
    pub fn set_fenced(&self, fenced: bool) {
        let word = self.word.load(Ordering::Relaxed);
        let outside = if fenced { FENCED_OUTSIDE } else { 0 };
        self.word
            .store(word & !NESTING | outside, Ordering::Release);
    }

    /// True if its thread executes fences.
    #[inline(always)]
    pub fn is_fenced(&self) -> bool {
        is_fenced(self.word.load(Ordering::Relaxed))
    }

    /// True if no section is open, judged fast: false also in fenced mode.
    #[inline(always)]
    pub fn is_plainly_outside(&self) -> bool {
        self.word.load(Ordering::Relaxed) & NESTING == 0
    }

    /// True if a section is open, judged fast: false also in fenced mode and beyond the limit.
    #[inline(always)]
    pub fn is_plainly_inside(&self) -> bool {
        let nesting = self.word.load(Ordering::Relaxed) & NESTING;
        nesting != 0 && nesting & NEST_LIMIT == 0
    }

    /// The result of a scan, for the engine. `[RD-2]`
    #[inline]
    pub fn scan(&self) -> Seen {
        let word = self.word.load(Ordering::Acquire);
        let (outside, stamp) = (nesting(word) == 0, generation(word));
        Seen { outside, stamp }
    }

    /// True if a driver waits for this reader.
    pub fn is_waited_for(&self) -> bool {
        self.flag.load(Ordering::Relaxed) != FLAG_CLEAR
    }

    /// Open sections, as its owner sees it.
    pub fn nesting(&self) -> u64 {
        nesting(self.word.load(Ordering::Relaxed))
    }
}

/// True if the thread of this word executes fences.
#[inline(always)]
fn is_fenced(word: u64) -> bool {
    word & FENCED_OUTSIDE == FENCED_OUTSIDE
}

/// Open sections in this word.
pub fn nesting(word: u64) -> u64 {
    match is_fenced(word) {
        true => word & FENCED_NESTING,
        false => word & NESTING,
    }
}

/// Generation in this word.
pub fn generation(word: u64) -> u64 {
    word / GENERATION
}

/// Opens a section in this word, unless the nesting is at or above the limit, which needs the slow path. (The
/// slow path is no closure parameter: a closure would hide the caller's location.)
#[cfg_attr(feature = "locations", track_caller)]
#[inline(always)]
#[must_use = "there may be no section"]
pub fn begin(reader: &'static Reader) -> bool {
    let word = reader.word.load(Ordering::Relaxed);
    if word & NESTING != 0 {
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

#[cfg_attr(feature = "locations", track_caller)]
#[inline(always)]
fn begin_nested(reader: &'static Reader, word: u64) -> bool {
    // One bit suffices, since the limit is a power of two and never exceeded by more than 1.
    if word & NEST_LIMIT != 0 {
        unlikely();
        return begin_fenced(reader, word);
    }
    // A release too: a scan that reads this store and finds a new generation credits the section before
    // the outer one, whose end the outer lock's store published. [RD-2]
    reader.word.store(word + 1, Ordering::Release);
    true
}

/// The same for a thread that executes fences; false for every other one.
#[cfg_attr(feature = "locations", track_caller)]
#[inline(always)]
fn begin_fenced(reader: &'static Reader, word: u64) -> bool {
    if word & FENCED == 0 || word & FENCED_LIMIT != 0 {
        return false;
    }
    if word & FENCED_NESTING == 0 {
        store_and_fence(&reader.word, word.wrapping_add(OUTERMOST)); // [RD-1] [RD-2]
        reader.note_location();
    } else {
        reader.word.store(word + 1, Ordering::Release); // [RD-2]
    }
    true
}

/// True if the wake flag of this reader word is set, or its thread is asked for a fence, or owes destructors.
/// A relaxed load and a test of all three.
///
/// Assembly, because the compiler emits three instructions on x86-64 instead of one, and five on aarch64
/// instead of two: it does not fold an atomic load into a comparison, nor two into one, and this is on the
/// path of every unlock.
#[inline(always)]
pub fn is_flagged(reader: &Reader) -> bool {
    #[cfg(not(quiescent_model))]
    const {
        assert!(std::mem::offset_of!(Reader, flag) % 8 == 0);
        assert!(std::mem::offset_of!(Reader, ask) == std::mem::offset_of!(Reader, flag) + 4);
    }
    #[cfg(all(target_arch = "x86_64", not(miri), not(quiescent_model)))]
    {
        let mut set = false;
        // SAFETY: reads eight aligned bytes, which is an atomic load on this architecture.
        unsafe {
            std::arch::asm!(
                "cmp qword ptr [{reader} + {flag}], 0",
                "jne {slow}",
                reader = in(reg) reader,
                flag = const std::mem::offset_of!(Reader, flag),
                slow = label { set = true },
                options(nostack, readonly),
            );
        }
        set
    }
    #[cfg(all(target_arch = "aarch64", not(miri), not(quiescent_model)))]
    {
        let mut set = false;
        // SAFETY: as above.
        unsafe {
            std::arch::asm!(
                "ldr {both}, [{reader}, {flag}]",
                "cbnz {both}, {slow}",
                both = out(reg) _,
                reader = in(reg) reader,
                flag = const std::mem::offset_of!(Reader, flag),
                slow = label { set = true },
                options(nostack, readonly, preserves_flags),
            );
        }
        set
    }
    #[cfg(not(all(
        any(target_arch = "x86_64", target_arch = "aarch64"),
        not(miri),
        not(quiescent_model)
    )))]
    {
        reader.flag.load(Ordering::Relaxed) != FLAG_CLEAR || reader.is_asked() || reader.owes()
    }
}

/// Marks the branch that calls it as unlikely.
#[cold]
#[inline]
fn unlikely() {}

/// Closes a section in this word. True if its flag is set (a driver waits, or the word is a sink), if a
/// driver asks for a fence, or if the thread owes destructors.
#[inline(always)]
#[must_use = "a driver may be waiting"]
pub fn end(reader: &'static Reader) -> bool {
    let word = reader.word.load(Ordering::Relaxed);
    reader.word.store(word.wrapping_sub(1), Ordering::Release); // [RD-2]
    light_fence(); // [RD-3]
    // In models nothing says that a store arrives some time, which RD-4 relies on.
    #[cfg(quiescent_model)]
    if is_fenced(word) && nesting(word) == 1 {
        crate::prim::full_fence();
    }
    is_flagged(reader)
}

#[cfg(all(test, not(quiescent_model)))]
mod tests;
