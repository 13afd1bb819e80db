//! The lanes of a queue, and the second word of an entry: how the object is reclaimed, and what it owns.
//!
//! | lane | from bit 0 | above |
//! |---|---|---|
//! | memory | binary logarithm of the alignment, 6 bits; owned bytes, 15 bits | the size |
//! | code | 48 bits: address of a table for the type, with a function and a name | owned bytes, 15 bits |
//! | the same, with the highest bit set | 48 bits: address of the function itself | all bytes, 15 bits |
//!
//! Bytes are a code of [`Owned`]. So telemetry knows the weight of each entry that it counts. A function that
//! is a value, and not known from a type, has no table.

use std::mem::{MaybeUninit, transmute};
use std::ptr;

use quiescent_engine::cpu::Lane;
use quiescent_engine::credit::Urgency;

use crate::queue::weight::{self, Owned, fits};

/// The lane of memory that is freed without running code.
pub const PLAIN: usize = Lane::Plain as usize;
/// The lane of code that its owner runs: destructors.
pub const OWN: usize = Lane::Own as usize;
/// The lane of code that workers run: closures.
pub const CODE: usize = Lane::Code as usize;
/// Number of lanes that are made of blocks.
pub const BLOCK_LANES: usize = 3;
/// The lane of intrusive callbacks.
pub const HEAD: usize = Lane::Head as usize;

/// Bits of an address in a word of the code lane: user space on x86-64 and AArch64 (unless it asks for more).
const ADDRESS_BITS: u32 = 48;
const ADDRESS: u64 = (1 << ADDRESS_BITS) - 1;
/// In a word of the code lane: the address is that of a function, not of a table.
const IS_FUNCTION: u64 = 1 << (ADDRESS_BITS + Owned::BITS);
const OWNED: u64 = (1 << Owned::BITS) - 1;
/// Bits of the alignment in a word of the plain lane.
const ALIGN_BITS: u32 = 6;
/// The first bit of the size.
const SIZE_AT: u32 = ALIGN_BITS + Owned::BITS;

/// The word of a box of `T` that is freed without running any code of `T`.
#[inline(always)]
pub const fn plain<T>(owned: Owned) -> u64 {
    const {
        assert!(
            size_of::<T>() as u64 >> (u64::BITS - SIZE_AT) == 0,
            "too large to be retired"
        )
    };
    let align = align_of::<T>().trailing_zeros() as u64;
    (size_of::<T>() as u64) << SIZE_AT | owned.0 << ALIGN_BITS | align
}

/// The size and the alignment in a word of the plain lane.
#[inline(always)]
pub const fn layout(what: u64) -> (usize, usize) {
    let align = 1 << (what & ((1 << ALIGN_BITS) - 1));
    ((what >> SIZE_AT) as usize, align)
}

/// The bytes that the budget counts for an entry with this word; nothing in the lane of intrusive callbacks.
///
/// # Safety
/// The word of an entry of this lane.
pub unsafe fn bytes(lane: usize, what: u64) -> u64 {
    let (fixed, owned) = match lane {
        PLAIN => {
            let size = quiescent_engine::owner::weight(layout(what).0);
            (size as u64, what >> ALIGN_BITS & OWNED)
        }
        // SAFETY: the caller's promise.
        CODE | OWN => (unsafe { kind(what) }.bytes, what >> ADDRESS_BITS & OWNED),
        _ => (0, 0),
    };
    fixed.saturating_add(Owned(owned).bytes())
}

/// A word of 48 bits for entries of one function, whatever they own: the address of the table or of the
/// function, or the layout. (A function's address in the lane of intrusive callbacks.)
pub const fn function(lane: usize, what: u64) -> u64 {
    let word = match lane {
        PLAIN => (what >> SIZE_AT << ALIGN_BITS) | what & ((1 << ALIGN_BITS) - 1),
        _ => what,
    };
    word & ADDRESS
}

/// How an entry is run.
#[derive(Clone, Copy, Debug)]
pub struct EntryKind {
    /// Runs or drops the object, and consumes it even if this panics.
    pub run: unsafe fn(*mut u8),
    /// The name of the type, for reports.
    pub name: fn() -> &'static str,
    /// It is queued lazily, unless in a hurry.
    pub lazy: bool,
    /// The bytes that the budget counts for one entry, without those that the object owns.
    pub bytes: u64,
}

/// A box of `T` that is dropped.
struct Dropped<T>(T);

impl<T> Dropped<T> {
    const KIND: EntryKind = EntryKind {
        run: |object| {
            let object = object.cast::<T>();
            // SAFETY: `dropped` made the entry for a box of T, which no reader refers to any more.
            #[cfg(not(quiescent_model))]
            drop(unsafe { Box::from_raw(object) });
            #[cfg(quiescent_model)]
            // SAFETY: as above.
            unsafe {
                crate::prim::drop_kept(object);
            }
        },
        name: std::any::type_name::<T>,
        lazy: true,
        bytes: weight::boxed::<T>() as u64,
    };
}

/// The word of an entry that drops a box of `T`.
#[inline(always)]
pub fn dropped<T>(owned: Owned) -> u64 {
    address(&Dropped::<T>::KIND) | owned.0 << ADDRESS_BITS
}

/// The word of an entry of a kind that the host defines.
#[inline(always)]
pub fn of_host(kind: &'static EntryKind, owned: Owned) -> u64 {
    address(kind) | owned.0 << ADDRESS_BITS
}

/// The word of an entry that calls this function with the object. `whole`: all bytes but the entry's own
/// ([`Owned::whole`]).
#[inline(always)]
pub fn given<T>(free: unsafe fn(*mut T), whole: Owned) -> u64 {
    let address = (free as *const ()).expose_provenance() as u64;
    IS_FUNCTION | whole.0 << ADDRESS_BITS | address & ADDRESS
}

/// The address of the function that was given with an entry of a lane of code; `None`: a type has it.
pub const fn given_at(what: u64) -> Option<u64> {
    if what & IS_FUNCTION != 0 {
        Some(what & ADDRESS)
    } else {
        None
    }
}

/// A closure.
struct Called<F, const LAZY: bool>(F);

impl<F: FnOnce(), const LAZY: bool> Called<F, LAZY> {
    const BOXED: EntryKind = EntryKind {
        run: |object| {
            // SAFETY: `called` made the entry for a box of F.
            unsafe { Box::from_raw(object.cast::<F>())() };
        },
        name: std::any::type_name::<F>,
        lazy: LAZY,
        bytes: weight::closure::<F>(),
    };
    /// The closure fits into the entry's word.
    const INLINE: EntryKind = EntryKind {
        run: |object| {
            // SAFETY: `called` copied an F into the word and forgot it.
            let closure: F = unsafe { (&raw const object).cast::<F>().read() };
            closure();
        },
        name: std::any::type_name::<F>,
        lazy: LAZY,
        bytes: weight::closure::<F>(),
    };
}

/// The entry's words for a closure: inside the word if it fits, else in a box.
#[inline]
pub fn called<F: FnOnce()>(closure: F, urgency: Urgency) -> (*mut u8, u64) {
    match urgency {
        Urgency::Lazy => words::<F, true>(closure),
        Urgency::Prompt | Urgency::Hurry => words::<F, false>(closure),
    }
}

#[inline]
fn words<F: FnOnce(), const LAZY: bool>(closure: F) -> (*mut u8, u64) {
    if fits::<F>() {
        let mut word = MaybeUninit::<*mut u8>::uninit();
        // SAFETY: it fits, by size and alignment; it is owned by the word from here on.
        unsafe { word.as_mut_ptr().cast::<F>().write(closure) };
        (frozen(word), address(&Called::<F, LAZY>::INLINE))
    } else {
        let boxed = Box::into_raw(Box::new(closure));
        (boxed.cast(), address(&Called::<F, LAZY>::BOXED))
    }
}

/// The same word, with its padding initialized from the compiler's point of view. The value of the padding is
/// arbitrary; without this step, reading bytes that were never written would be undefined behaviour.
#[inline(always)]
fn frozen(#[allow(unused_mut)] mut word: MaybeUninit<*mut u8>) -> *mut u8 {
    #[cfg(not(target_family = "wasm"))]
    // SAFETY: no instruction at all; the register keeps its value.
    unsafe {
        std::arch::asm!(
            "/* {0} */", inlateout(reg) word, options(pure, nomem, nostack, preserves_flags)
        );
    }
    // SAFETY: initialized by the line above. (Without it nothing fits, and this is never called.)
    unsafe { word.assume_init() }
}

fn address(kind: &'static EntryKind) -> u64 {
    ptr::from_ref(kind).expose_provenance() as u64
}

/// How an entry of a lane of code is run.
///
/// # Safety
/// `what` comes from `dropped`, `called`, `given` or `of_host`.
#[inline(always)]
pub unsafe fn kind(what: u64) -> EntryKind {
    let at = ptr::with_exposed_provenance::<()>((what & ADDRESS) as usize);
    if what & IS_FUNCTION != 0 {
        // SAFETY: the address of an `unsafe fn(*mut T)`, exposed by `given`. Pointers to sized types are
        // passed alike.
        let run = unsafe { transmute::<*const (), unsafe fn(*mut u8)>(at) };
        return EntryKind {
            run,
            name: || "a function given to `retire`",
            lazy: true,
            bytes: weight::ENTRY as u64,
        };
    }
    // SAFETY: the address of a static table, exposed by `address`.
    unsafe { *at.cast() }
}
