//! What to do with an entry of the code lane: a table of one function and a name a type.

use std::ptr;

/// How an entry is run.
#[derive(Debug)]
pub(crate) struct Kind {
    /// Runs or drops the object; it is gone afterwards, even if this panics.
    pub(crate) run: unsafe fn(*mut u8),
    /// The name of the type, for reports.
    pub(crate) name: fn() -> &'static str,
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
    };
}

/// How to drop a box of `T`.
#[inline(always)]
pub(crate) fn dropped<T: Send + 'static>() -> u64 {
    address(&Dropped::<T>::KIND)
}

/// A closure.
struct Called<F>(F);

impl<F: FnOnce() + Send + 'static> Called<F> {
    const BOXED: Kind = Kind {
        run: |object| {
            // SAFETY: `called` made the entry for a box of F.
            unsafe { Box::from_raw(object.cast::<F>())() };
        },
        name: std::any::type_name::<F>,
    };
    /// It fits into the entry's word.
    const INLINE: Kind = Kind {
        run: |object| {
            // SAFETY: `called` copied an F into the word and forgot it.
            let closure: F = unsafe { (&raw const object).cast::<F>().read() };
            closure();
        },
        name: std::any::type_name::<F>,
    };
}

/// The entry's words for a closure: inside the word if it fits, else in a box.
#[inline]
pub(crate) fn called<F: FnOnce() + Send + 'static>(closure: F) -> (*mut u8, u64) {
    if size_of::<F>() <= size_of::<*mut u8>() && align_of::<F>() <= align_of::<*mut u8>() {
        let mut word: *mut u8 = ptr::null_mut();
        // SAFETY: it fits, by size and alignment; it is owned by the word from here on.
        unsafe { (&raw mut word).cast::<F>().write(closure) };
        (word, address(&Called::<F>::INLINE))
    } else {
        let boxed = Box::into_raw(Box::new(closure));
        (boxed.cast(), address(&Called::<F>::BOXED))
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
