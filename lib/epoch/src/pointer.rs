//! What a pointer may point to, and how a word holds it together with a tag.

use std::ptr;

/// A type that [`Owned`](crate::Owned), [`Shared`](crate::Shared) and [`Atomic`](crate::Atomic) may point to.
/// An object is one word for them: its address.
///
/// Every sized type is one (in a box), and `[MaybeUninit<T>]`: an array whose length lies before it.
///
/// ```
/// use quiescent_epoch::Owned;
/// use std::mem::MaybeUninit;
///
/// let mut array = Owned::<[MaybeUninit<u8>]>::init(10);
/// array[9].write(1);
/// assert_eq!(array.len(), 10);
/// ```
pub trait Pointable {
    /// The alignment of the address: its lowest bits are free for a tag.
    const ALIGN: usize;

    /// What an object is made from.
    type Init;

    /// Makes an object, and returns its address.
    ///
    /// # Safety
    /// The address is a multiple of [`ALIGN`](Self::ALIGN).
    unsafe fn init(init: Self::Init) -> usize;

    /// The object at an address.
    ///
    /// # Safety
    /// The address is from [`init`](Self::init), the object was not dropped, and no exclusive reference to
    /// it is in use.
    unsafe fn deref<'a>(ptr: usize) -> &'a Self;

    /// The object at an address.
    ///
    /// # Safety
    /// As [`deref`](Self::deref), and no other reference to it is in use.
    unsafe fn deref_mut<'a>(ptr: usize) -> &'a mut Self;

    /// Drops the object, and frees its memory.
    ///
    /// # Safety
    /// The address is from [`init`](Self::init), and is not used again.
    unsafe fn drop(ptr: usize);
}

impl<T> Pointable for T {
    const ALIGN: usize = align_of::<T>();

    type Init = T;

    unsafe fn init(init: T) -> usize {
        Box::into_raw(Box::new(init)).expose_provenance()
    }

    unsafe fn deref<'a>(ptr: usize) -> &'a T {
        // SAFETY: the caller's promise.
        unsafe { &*ptr::with_exposed_provenance(ptr) }
    }

    unsafe fn deref_mut<'a>(ptr: usize) -> &'a mut T {
        // SAFETY: the caller's promise.
        unsafe { &mut *ptr::with_exposed_provenance_mut(ptr) }
    }

    unsafe fn drop(ptr: usize) {
        // SAFETY: the caller's promise.
        drop(unsafe { Box::from_raw(ptr::with_exposed_provenance_mut::<T>(ptr)) });
    }
}

/// [`Owned`](crate::Owned) and [`Shared`](crate::Shared): what an [`Atomic`](crate::Atomic) may be set to.
pub trait Pointer<T: ?Sized + Pointable> {
    /// The word: address and tag.
    fn into_usize(self) -> usize;

    /// The pointer that such a word is.
    ///
    /// # Safety
    /// The word is from [`into_usize`](Self::into_usize) of the same type, and an [`Owned`](crate::Owned) is
    /// made of it at most once.
    unsafe fn from_usize(data: usize) -> Self;
}

/// The bits of a word that are its tag.
pub(crate) const fn tags<T: ?Sized + Pointable>() -> usize {
    // As in the original: an alignment that is no power of two is a multiple of one.
    (1 << T::ALIGN.trailing_zeros()) - 1
}

/// The address in a word.
pub(crate) fn address<T: ?Sized + Pointable>(word: usize) -> usize {
    word & !tags::<T>()
}

/// The word with another tag, as far as there are bits for it.
pub(crate) fn with_tag<T: ?Sized + Pointable>(word: usize, tag: usize) -> usize {
    address::<T>(word) | tag & tags::<T>()
}

/// The word of a pointer.
///
/// # Panics
/// If the pointer is not aligned: its low bits would be taken for a tag.
pub(crate) fn word_of<T>(pointer: *const T) -> usize {
    let word = pointer.expose_provenance();
    assert_eq!(word & tags::<T>(), 0, "unaligned pointer");
    word
}
