//! The type information of entries of the lanes of code: a static table per type, with a function and a name.

use std::arch::asm;
use std::mem::MaybeUninit;
use std::ptr;

use quiescent_engine::credit::Urgency;

use crate::queue::weight;

/// How an entry is run.
#[derive(Debug)]
pub struct Kind {
    /// Runs or drops the object, and consumes it even if this panics.
    pub run: unsafe fn(*mut u8),
    /// The name of the type, for reports.
    pub name: fn() -> &'static str,
    /// It is queued lazily, unless in a hurry.
    pub lazy: bool,
    /// The bytes that the budget counts for one entry.
    pub bytes: u64,
}

/// A box of `T` that is dropped.
struct Dropped<T>(T);

impl<T: Send + 'static> Dropped<T> {
    const KIND: Kind = Kind {
        run: |object| {
            // SAFETY: `dropped` made the entry for a box of T, which no reader refers to any more.
            drop(unsafe { Box::from_raw(object.cast::<T>()) });
        },
        name: std::any::type_name::<T>,
        lazy: true,
        bytes: weight::boxed::<T>() as u64,
    };
}

/// The code word of an entry that drops a box of `T`.
#[inline(always)]
pub fn dropped<T: Send + 'static>() -> u64 {
    address(&Dropped::<T>::KIND)
}

/// A closure.
struct Called<F, const LAZY: bool>(F);

impl<F: FnOnce() + Send + 'static, const LAZY: bool> Called<F, LAZY> {
    const BOXED: Kind = Kind {
        run: |object| {
            // SAFETY: `called` made the entry for a box of F.
            unsafe { Box::from_raw(object.cast::<F>())() };
        },
        name: std::any::type_name::<F>,
        lazy: LAZY,
        bytes: weight::closure::<F>(),
    };
    /// The closure fits into the entry's word.
    const INLINE: Kind = Kind {
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

/// True if a closure fits into the entry's word.
pub const fn fits<F>() -> bool {
    !cfg!(miri)
        && size_of::<F>() <= size_of::<*mut u8>()
        && align_of::<F>() <= align_of::<*mut u8>()
}

/// The entry's words for a closure: inside the word if it fits, else in a box.
#[inline]
pub fn called<F: FnOnce() + Send + 'static>(closure: F, urgency: Urgency) -> (*mut u8, u64) {
    match urgency {
        Urgency::Lazy => words::<F, true>(closure),
        Urgency::Prompt | Urgency::Hurry => words::<F, false>(closure),
    }
}

#[inline]
fn words<F: FnOnce() + Send + 'static, const LAZY: bool>(closure: F) -> (*mut u8, u64) {
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
fn frozen(mut word: MaybeUninit<*mut u8>) -> *mut u8 {
    // SAFETY: no instruction at all; the register keeps its value.
    unsafe {
        asm!("/* {0} */", inlateout(reg) word, options(pure, nomem, nostack, preserves_flags));
        word.assume_init()
    }
}

fn address(kind: &'static Kind) -> u64 {
    ptr::from_ref(kind).expose_provenance() as u64
}

/// The table of an entry of a lane of code.
///
/// # Safety
/// `what` comes from `dropped` or `called`.
pub unsafe fn kind(what: u64) -> &'static Kind {
    // SAFETY: the address of a static table, exposed by `address`.
    unsafe { &*ptr::with_exposed_provenance(what as usize) }
}
