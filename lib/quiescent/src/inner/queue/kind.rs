//! What to do with an entry of the code lane: a table of one function and a name a type.

use std::arch::asm;
use std::mem::MaybeUninit;
use std::ptr;

use quiescent_engine::credit::Urgency;

use crate::inner::queue::weight;

/// How an entry is run.
#[derive(Debug)]
pub(crate) struct Kind {
    /// Runs or drops the object; it is gone afterwards, even if this panics.
    pub(crate) run: unsafe fn(*mut u8),
    /// The name of the type, for reports.
    pub(crate) name: fn() -> &'static str,
    /// It is queued lazily, unless in a hurry.
    pub(crate) lazy: bool,
    /// What one takes while it is queued.
    pub(crate) bytes: u64,
}

/// A box of `T` that is dropped.
struct Dropped<T>(T);

impl<T: Send + 'static> Dropped<T> {
    const KIND: Kind = Kind {
        run: |object| {
            // SAFETY: `dropped` made the entry for a box of T, which nobody reads any more.
            drop(unsafe { Box::from_raw(object.cast::<T>()) });
        },
        name: std::any::type_name::<T>,
        lazy: true,
        bytes: weight::boxed::<T>() as u64,
    };
}

/// How to drop a box of `T`.
#[inline(always)]
pub(crate) fn dropped<T: Send + 'static>() -> u64 {
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
    /// It fits into the entry's word.
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

/// Does a closure fit into the entry's word?
pub(crate) const fn fits<F>() -> bool {
    !cfg!(miri)
        && size_of::<F>() <= size_of::<*mut u8>()
        && align_of::<F>() <= align_of::<*mut u8>()
}

/// The entry's words for a closure: inside the word if it fits, else in a box.
#[inline]
pub(crate) fn called<F: FnOnce() + Send + 'static>(closure: F, urgency: Urgency) -> (*mut u8, u64) {
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

/// The word as it is. Its padding has some value from here on: which one is the processor's business, not
/// the compiler's, for whom reading what was never written would be undefined.
#[inline(always)]
fn frozen(mut word: MaybeUninit<*mut u8>) -> *mut u8 {
    // SAFETY: no instruction at all; the register holds what it held.
    unsafe {
        asm!("/* {0} */", inlateout(reg) word, options(pure, nomem, nostack, preserves_flags));
        word.assume_init()
    }
}

fn address(kind: &'static Kind) -> u64 {
    ptr::from_ref(kind).expose_provenance() as u64
}

/// The table of an entry of the code lane.
///
/// # Safety
/// `what` comes from `dropped` or `called`.
pub(crate) unsafe fn kind(what: u64) -> &'static Kind {
    // SAFETY: the address of a static table, exposed by `address`.
    unsafe { &*ptr::with_exposed_provenance(what as usize) }
}
