//! [`Owned`].

use std::borrow::{Borrow, BorrowMut};
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::ptr;

use crate::guard::Guard;
use crate::pointer::{Pointable, Pointer, address, tags, with_tag, word_of};
use crate::shared::Shared;

/// An object that no other thread knows, with a tag: as a `Box`.
///
/// ```
/// use quiescent_epoch::Owned;
///
/// let owned = Owned::new(5u64).with_tag(3);
/// assert_eq!((*owned, owned.tag()), (5, 3));
/// assert_eq!(*owned.into_box(), 5);
/// ```
pub struct Owned<T: ?Sized + Pointable>(usize, PhantomData<Box<T>>);

impl<T> Owned<T> {
    /// Makes an object.
    pub fn new(init: T) -> Owned<T> {
        Owned::init(init)
    }

    /// Takes an object that was a box, and has tag 0.
    ///
    /// # Safety
    /// The pointer is from `Box::into_raw`, and is not used to own the object again.
    ///
    /// # Panics
    /// If the pointer is not aligned.
    ///
    /// ```
    /// # use quiescent_epoch::Owned;
    /// let raw = Box::into_raw(Box::new(1));
    /// // SAFETY: from a box.
    /// assert_eq!(unsafe { *Owned::from_raw(raw) }, 1);
    /// ```
    pub unsafe fn from_raw(raw: *mut T) -> Owned<T> {
        Owned::of(word_of(raw))
    }

    /// The box. The tag is lost.
    pub fn into_box(self) -> Box<T> {
        let word = self.into_usize();
        // SAFETY: the address of a box, which this owned.
        unsafe { Box::from_raw(ptr::with_exposed_provenance_mut(address::<T>(word))) }
    }
}

impl<T: ?Sized + Pointable> Owned<T> {
    /// Makes an object: see [`Pointable`].
    pub fn init(init: T::Init) -> Owned<T> {
        // SAFETY: a `Pointable` aligns its objects.
        Owned::of(unsafe { T::init(init) })
    }

    fn of(word: usize) -> Owned<T> {
        Owned(word, PhantomData)
    }

    /// Gives the object to who finds it: it is freed by no one but the caller.
    pub fn into_shared<'g>(self, _: &'g Guard) -> Shared<'g, T> {
        Shared::of(self.into_usize())
    }

    /// The tag.
    pub fn tag(&self) -> usize {
        self.0 & tags::<T>()
    }

    /// The same object with another tag, as far as there are bits for it.
    pub fn with_tag(self, tag: usize) -> Owned<T> {
        Owned::of(with_tag::<T>(self.into_usize(), tag))
    }
}

impl<T: ?Sized + Pointable> Pointer<T> for Owned<T> {
    fn into_usize(self) -> usize {
        ManuallyDrop::new(self).0
    }

    unsafe fn from_usize(data: usize) -> Self {
        Owned::of(data)
    }
}

impl<T: ?Sized + Pointable> Drop for Owned<T> {
    fn drop(&mut self) {
        // SAFETY: it owns the object.
        unsafe { T::drop(address::<T>(self.0)) };
    }
}

impl<T: ?Sized + Pointable> Deref for Owned<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: it owns the object, and is borrowed.
        unsafe { T::deref(address::<T>(self.0)) }
    }
}

impl<T: ?Sized + Pointable> DerefMut for Owned<T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: it owns the object, and is exclusively borrowed.
        unsafe { T::deref_mut(address::<T>(self.0)) }
    }
}

impl<T: ?Sized + Pointable> fmt::Debug for Owned<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (raw, tag) = (address::<T>(self.0), self.tag());
        f.debug_struct("Owned")
            .field("raw", &raw)
            .field("tag", &tag)
            .finish()
    }
}

impl<T: Clone> Clone for Owned<T> {
    fn clone(&self) -> Self {
        Owned::new((**self).clone()).with_tag(self.tag())
    }
}

impl<T> From<T> for Owned<T> {
    fn from(value: T) -> Self {
        Owned::new(value)
    }
}

impl<T> From<Box<T>> for Owned<T> {
    fn from(object: Box<T>) -> Self {
        // SAFETY: from a box.
        unsafe { Owned::from_raw(Box::into_raw(object)) }
    }
}

impl<T: ?Sized + Pointable> Borrow<T> for Owned<T> {
    fn borrow(&self) -> &T {
        self
    }
}

impl<T: ?Sized + Pointable> BorrowMut<T> for Owned<T> {
    fn borrow_mut(&mut self) -> &mut T {
        self
    }
}

impl<T: ?Sized + Pointable> AsRef<T> for Owned<T> {
    fn as_ref(&self) -> &T {
        self
    }
}

impl<T: ?Sized + Pointable> AsMut<T> for Owned<T> {
    fn as_mut(&mut self) -> &mut T {
        self
    }
}
