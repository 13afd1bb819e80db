//! [`Shared`].

use std::cmp::Ordering;
use std::fmt;
use std::marker::PhantomData;
use std::ptr;

use crate::owned::Owned;
use crate::pointer::{Pointable, Pointer, address, tags, with_tag, word_of};

/// A pointer with a tag to an object that is alive as long as a guard.
///
/// ```
/// use quiescent_epoch::{Owned, Shared, pin};
///
/// let guard = &pin();
/// let shared = Owned::new(5u64).into_shared(guard);
/// let tagged = shared.with_tag(1);
/// assert!(tagged != shared && tagged.as_raw() == shared.as_raw() && !tagged.is_null());
/// assert_eq!((tagged.tag(), Shared::<u64>::null().tag()), (1, 0));
/// // SAFETY: alive, and owned by no other thread.
/// assert_eq!(unsafe { *tagged.into_owned() }, 5);
/// ```
pub struct Shared<'g, T: 'g + ?Sized + Pointable>(usize, PhantomData<(&'g (), *const T)>);

impl<T> Shared<'_, T> {
    /// The pointer without its tag.
    pub fn as_raw(&self) -> *const T {
        ptr::with_exposed_provenance(address::<T>(self.0))
    }
}

impl<'g, T: ?Sized + Pointable> Shared<'g, T> {
    pub(crate) const fn of(word: usize) -> Self {
        Shared(word, PhantomData)
    }

    /// A null pointer with tag 0.
    pub const fn null() -> Self {
        Shared::of(0)
    }

    /// Returns whether it is null, with any tag.
    pub fn is_null(&self) -> bool {
        address::<T>(self.0) == 0
    }

    /// The object.
    ///
    /// # Safety
    /// Not null; the object is alive, and stays so as long as the guard; no exclusive reference to it is in
    /// use; and what made it happened before: the pointer was loaded with an ordering that acquires.
    pub unsafe fn deref(&self) -> &'g T {
        // SAFETY: the caller's promise.
        unsafe { T::deref(address::<T>(self.0)) }
    }

    /// The object.
    ///
    /// # Safety
    /// As [`deref`](Self::deref), and no other reference to the object is in use.
    pub unsafe fn deref_mut(&mut self) -> &'g mut T {
        // SAFETY: the caller's promise.
        unsafe { T::deref_mut(address::<T>(self.0)) }
    }

    /// The object, or `None` if the pointer is null.
    ///
    /// # Safety
    /// Null, or as [`deref`](Self::deref).
    pub unsafe fn as_ref(&self) -> Option<&'g T> {
        // SAFETY: the caller's promise.
        (!self.is_null()).then(|| unsafe { self.deref() })
    }

    /// Takes the object back.
    ///
    /// # Safety
    /// Not null, and no other thread uses the object or finds it.
    ///
    /// # Panics
    /// If it is null, in a build with assertions.
    pub unsafe fn into_owned(self) -> Owned<T> {
        debug_assert!(!self.is_null(), "converting a null `Shared` into `Owned`");
        // SAFETY: the caller's promise.
        unsafe { Owned::from_usize(self.0) }
    }

    /// Takes the object back, if the pointer is not null.
    ///
    /// # Safety
    /// Null, or as [`into_owned`](Self::into_owned).
    pub unsafe fn try_into_owned(self) -> Option<Owned<T>> {
        // SAFETY: the caller's promise.
        (!self.is_null()).then(|| unsafe { self.into_owned() })
    }

    /// The tag.
    pub fn tag(&self) -> usize {
        self.0 & tags::<T>()
    }

    /// The same pointer with another tag, as far as there are bits for it.
    pub fn with_tag(&self, tag: usize) -> Self {
        Shared::of(with_tag::<T>(self.0, tag))
    }
}

impl<T: ?Sized + Pointable> Pointer<T> for Shared<'_, T> {
    fn into_usize(self) -> usize {
        self.0
    }

    unsafe fn from_usize(data: usize) -> Self {
        Shared::of(data)
    }
}

impl<T: ?Sized + Pointable> Clone for Shared<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: ?Sized + Pointable> Copy for Shared<'_, T> {}

/// # Panics
/// If the pointer is not aligned.
impl<T> From<*const T> for Shared<'_, T> {
    fn from(raw: *const T) -> Self {
        Shared::of(word_of(raw))
    }
}

/// Of the words: pointers with different tags differ.
impl<'g, T: ?Sized + Pointable> PartialEq<Shared<'g, T>> for Shared<'g, T> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<T: ?Sized + Pointable> Eq for Shared<'_, T> {}

impl<'g, T: ?Sized + Pointable> PartialOrd<Shared<'g, T>> for Shared<'g, T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T: ?Sized + Pointable> Ord for Shared<'_, T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.cmp(&other.0)
    }
}

impl<T: ?Sized + Pointable> fmt::Debug for Shared<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (raw, tag) = (address::<T>(self.0), self.tag());
        f.debug_struct("Shared")
            .field("raw", &raw)
            .field("tag", &tag)
            .finish()
    }
}

impl<T: ?Sized + Pointable> fmt::Pointer for Shared<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let raw: *const () = ptr::without_provenance(address::<T>(self.0));
        fmt::Pointer::fmt(&raw, f)
    }
}

impl<T: ?Sized + Pointable> Default for Shared<'_, T> {
    fn default() -> Self {
        Shared::null()
    }
}
