//! [`Shared`]: what a load of an [`RcuPtr`] returns. [`ptr`](super::ptr) explains which calls are safe.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::ptr::NonNull;

use super::handle::{Global, Handle};
#[cfg(doc)]
use super::ptr::RcuPtr;
use super::retired::Retired;

/// An object that was found through an [`RcuPtr`] within the section `'g`: a `&'g T` that may also be linked
/// again or retired.
pub struct Shared<'g, T: Send + Sync + 'static, D: Handle = Global> {
    object: NonNull<T>,
    section: PhantomData<&'g T>,
    of: PhantomData<fn() -> D::Brand>,
}

impl<'g, T: Send + Sync + 'static, D: Handle> Shared<'g, T, D> {
    /// # Safety
    /// Null, or a box that was published complete and is not freed during `'g`.
    #[inline(always)]
    pub(super) unsafe fn found(raw: *mut T) -> Option<Shared<'g, T, D>> {
        NonNull::new(raw).map(|object| Shared {
            object,
            section: PhantomData,
            of: PhantomData,
        })
    }

    /// The object, for as long as the section lasts (a reference from `Deref` is shorter).
    #[inline(always)]
    pub fn get(self) -> &'g T {
        // SAFETY: not freed during 'g; shared, so there is no mutable access.
        unsafe { self.object.as_ref() }
    }

    /// Its address, as `Box::into_raw` returned it.
    pub fn as_ptr(self) -> NonNull<T> {
        self.object
    }

    /// As [`into_retired`](Shared::into_retired), for an object that is read under sections of `domain`.
    ///
    /// # Safety
    /// As for [`into_retired`](Shared::into_retired), for sections of this domain.
    #[inline]
    pub unsafe fn into_retired_in<H: Handle<Brand = D::Brand>>(self, domain: H) -> Retired<T, H> {
        // SAFETY: a box by the invariant of `RcuPtr`; the rest is the caller's promise.
        unsafe { Retired::from_raw_in(self.object, domain) }
    }
}

impl<T: Send + Sync + 'static> Shared<'_, T> {
    /// Frees the object after a grace period; never waits. Sections that are open now, this one included, may
    /// continue to use it, and may even find it again.
    ///
    /// # Safety
    /// The object has been unlinked: sections that open later cannot find it through any pointer. It is
    /// retired or taken back once, and is not linked again.
    #[doc(alias = "defer_destroy")]
    #[inline]
    pub unsafe fn retire(self) {
        // SAFETY: the caller's promise.
        unsafe { self.into_retired() }.retire();
    }

    /// Turns the object into a [`Retired`], which outlives the section: to get the object back, or to set its
    /// options. Wait for it outside of the section.
    ///
    /// # Safety
    /// As [`retire`](Shared::retire).
    ///
    /// ```
    /// let pointer = quiescent::RcuPtr::new(Box::new(String::from("old")));
    /// let retired = quiescent::read(|guard| {
    ///     let old = pointer.swap(None, guard).expect("it held one");
    ///     // SAFETY: this was the only pointer to it.
    ///     unsafe { old.into_retired() }
    /// });
    /// assert_eq!(*retired.wait(), "old");
    /// ```
    #[inline]
    pub unsafe fn into_retired(self) -> Retired<T> {
        // SAFETY: the caller's promise.
        unsafe { self.into_retired_in(Global) }
    }
}

impl<T: Send + Sync + 'static, D: Handle> Clone for Shared<'_, T, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Send + Sync + 'static, D: Handle> Copy for Shared<'_, T, D> {}

impl<T: Send + Sync + 'static, D: Handle> Deref for Shared<'_, T, D> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        self.get()
    }
}

impl<T: Send + Sync + fmt::Debug, D: Handle> fmt::Debug for Shared<'_, T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Shared").field(self.get()).finish()
    }
}
