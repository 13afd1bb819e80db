//! [`Atomic`].

use std::fmt;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::guard::Guard;
use crate::owned::Owned;
use crate::pointer::{Pointable, Pointer, tags, word_of};
use crate::shared::Shared;

/// A pointer with a tag that threads share. It is one word, and zeroed memory is a null pointer. It does not
/// own its object: dropping it drops nothing.
///
/// ```
/// use quiescent_epoch::{Atomic, Owned, Shared, pin};
/// use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
///
/// let top = Atomic::new(1);
/// let guard = &pin();
/// let one = top.load(Acquire, guard);
/// let two = top.compare_exchange(one, Owned::new(2), AcqRel, Acquire, guard).unwrap();
/// assert_eq!(unsafe { two.as_ref() }, Some(&2));
/// let error = top.compare_exchange(one, Shared::null(), AcqRel, Acquire, guard).unwrap_err();
/// assert!(error.current == two && error.new.is_null());
/// top.fetch_or(1, Relaxed, guard); // the tag
/// assert_eq!(top.load(Relaxed, guard), two.with_tag(1));
/// top.store(Shared::null(), Release);
/// unsafe {
///     guard.defer_destroy(one);
///     guard.defer_destroy(two);
/// }
/// ```
#[repr(transparent)]
pub struct Atomic<T: ?Sized + Pointable>(AtomicUsize, PhantomData<*mut T>);

// SAFETY: threads get references to the object, and may take it; who dereferences what is loaded vouches for
// the rest.
unsafe impl<T: ?Sized + Pointable + Send + Sync> Send for Atomic<T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Pointable + Send + Sync> Sync for Atomic<T> {}

/// The pointer was another one: what it was, and what could not be stored.
pub struct CompareExchangeError<'g, T: ?Sized + Pointable, P: Pointer<T>> {
    /// What the pointer was.
    pub current: Shared<'g, T>,
    /// What was to be stored: an [`Owned`] comes back.
    pub new: P,
}

impl<T, P: Pointer<T> + fmt::Debug> fmt::Debug for CompareExchangeError<'_, T, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct("CompareExchangeError");
        fields
            .field("current", &self.current)
            .field("new", &self.new)
            .finish()
    }
}

impl<T> Atomic<T> {
    /// Makes an object, and a pointer to it.
    pub fn new(init: T) -> Atomic<T> {
        Atomic::init(init)
    }
}

impl<T: ?Sized + Pointable> Atomic<T> {
    /// Makes an object and a pointer to it: see [`Pointable`].
    pub fn init(init: T::Init) -> Atomic<T> {
        Owned::<T>::init(init).into()
    }

    const fn of(word: usize) -> Atomic<T> {
        Atomic(AtomicUsize::new(word), PhantomData)
    }

    /// A null pointer with tag 0.
    pub const fn null() -> Atomic<T> {
        Atomic::of(0)
    }

    /// Loads the pointer.
    pub fn load<'g>(&self, ord: Ordering, _: &'g Guard) -> Shared<'g, T> {
        Shared::of(self.0.load(ord))
    }

    /// Loads the pointer, and what was written to the object before it was published. Acquires.
    pub fn load_consume<'g>(&self, guard: &'g Guard) -> Shared<'g, T> {
        self.load(Ordering::Acquire, guard)
    }

    /// Stores a pointer.
    pub fn store<P: Pointer<T>>(&self, new: P, ord: Ordering) {
        self.0.store(new.into_usize(), ord);
    }

    /// Stores a pointer, and returns the previous one.
    pub fn swap<'g, P: Pointer<T>>(&self, new: P, ord: Ordering, _: &'g Guard) -> Shared<'g, T> {
        Shared::of(self.0.swap(new.into_usize(), ord))
    }

    /// Stores `new` if the pointer is `current`, tags included, and returns it as it was stored.
    ///
    /// # Errors
    /// The pointer is another one, which the error contains.
    pub fn compare_exchange<'g, P: Pointer<T>>(
        &self,
        current: Shared<'_, T>,
        new: P,
        success: Ordering,
        failure: Ordering,
        _: &'g Guard,
    ) -> Result<Shared<'g, T>, CompareExchangeError<'g, T, P>> {
        let new = new.into_usize();
        let current = current.into_usize();
        exchanged(new, self.0.compare_exchange(current, new, success, failure))
    }

    /// As [`compare_exchange`](Self::compare_exchange), but may fail although the pointer is `current`: for
    /// loops.
    ///
    /// # Errors
    /// The pointer is another one, or it was not stored.
    pub fn compare_exchange_weak<'g, P: Pointer<T>>(
        &self,
        current: Shared<'_, T>,
        new: P,
        success: Ordering,
        failure: Ordering,
        _: &'g Guard,
    ) -> Result<Shared<'g, T>, CompareExchangeError<'g, T, P>> {
        let new = new.into_usize();
        let current = current.into_usize();
        exchanged(
            new,
            self.0.compare_exchange_weak(current, new, success, failure),
        )
    }

    /// Stores what `func` makes of the pointer, until no other thread comes between; returns the pointer that
    /// was replaced.
    ///
    /// # Errors
    /// `func` returned `None`: the pointer that it was given last.
    ///
    /// ```
    /// use quiescent_epoch::{Atomic, Shared, pin};
    /// use std::sync::atomic::Ordering::SeqCst;
    ///
    /// let (guard, flag) = (&pin(), Atomic::<u64>::null());
    /// let old = flag.fetch_update(SeqCst, SeqCst, guard, |old| Some(old.with_tag(old.tag() + 1)));
    /// assert_eq!(old, Ok(Shared::null()));
    /// let full = flag.fetch_update(SeqCst, SeqCst, guard, |old| (old.tag() < 1).then_some(old));
    /// assert_eq!(full, Err(Shared::null().with_tag(1)));
    /// ```
    pub fn fetch_update<'g, F>(
        &self,
        set_order: Ordering,
        fail_order: Ordering,
        guard: &'g Guard,
        mut func: F,
    ) -> Result<Shared<'g, T>, Shared<'g, T>>
    where
        F: FnMut(Shared<'g, T>) -> Option<Shared<'g, T>>,
    {
        let mut now = self.load(fail_order, guard);
        while let Some(next) = func(now) {
            match self.compare_exchange_weak(now, next, set_order, fail_order, guard) {
                Ok(_) => return Ok(now),
                Err(error) => now = error.current,
            }
        }
        Err(now)
    }

    /// Clears the bits of the tag that `val` does not have; returns the previous pointer.
    pub fn fetch_and<'g>(&self, val: usize, ord: Ordering, _: &'g Guard) -> Shared<'g, T> {
        Shared::of(self.0.fetch_and(val | !tags::<T>(), ord))
    }

    /// Sets bits of the tag; returns the previous pointer.
    pub fn fetch_or<'g>(&self, val: usize, ord: Ordering, _: &'g Guard) -> Shared<'g, T> {
        Shared::of(self.0.fetch_or(val & tags::<T>(), ord))
    }

    /// Changes bits of the tag to the opposite; returns the previous pointer.
    pub fn fetch_xor<'g>(&self, val: usize, ord: Ordering, _: &'g Guard) -> Shared<'g, T> {
        Shared::of(self.0.fetch_xor(val & tags::<T>(), ord))
    }

    /// Takes the object.
    ///
    /// # Safety
    /// Not null, and no other thread uses the object or finds it.
    ///
    /// # Panics
    /// If it is null, in a build with assertions.
    pub unsafe fn into_owned(self) -> Owned<T> {
        // SAFETY: the caller's promise.
        unsafe { Shared::of(self.0.into_inner()).into_owned() }
    }

    /// Takes the object, if the pointer is not null: for destructors of structures.
    ///
    /// # Safety
    /// Null, or as [`into_owned`](Self::into_owned).
    pub unsafe fn try_into_owned(self) -> Option<Owned<T>> {
        // SAFETY: the caller's promise.
        unsafe { Shared::of(self.0.into_inner()).try_into_owned() }
    }
}

/// The result of an exchange of words.
fn exchanged<'g, T: ?Sized + Pointable, P: Pointer<T>>(
    new: usize,
    result: Result<usize, usize>,
) -> Result<Shared<'g, T>, CompareExchangeError<'g, T, P>> {
    match result {
        Ok(_) => Ok(Shared::of(new)),
        Err(current) => Err(CompareExchangeError {
            current: Shared::of(current),
            // SAFETY: from a pointer of this type, and not stored.
            new: unsafe { P::from_usize(new) },
        }),
    }
}

impl<T: ?Sized + Pointable> fmt::Debug for Atomic<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let now = Shared::<T>::of(self.0.load(Ordering::Relaxed));
        f.debug_tuple("Atomic").field(&now).finish()
    }
}

impl<T: ?Sized + Pointable> fmt::Pointer for Atomic<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(&Shared::<T>::of(self.0.load(Ordering::Relaxed)), f)
    }
}

/// The same pointer. Loads it relaxed: what dereferences the clone must be ordered by other means.
impl<T: ?Sized + Pointable> Clone for Atomic<T> {
    fn clone(&self) -> Self {
        Atomic::of(self.0.load(Ordering::Relaxed))
    }
}

impl<T: ?Sized + Pointable> Default for Atomic<T> {
    fn default() -> Self {
        Atomic::null()
    }
}

impl<T: ?Sized + Pointable> From<Owned<T>> for Atomic<T> {
    fn from(owned: Owned<T>) -> Self {
        Atomic::of(owned.into_usize())
    }
}

impl<T> From<Box<T>> for Atomic<T> {
    fn from(object: Box<T>) -> Self {
        Owned::<T>::from(object).into()
    }
}

impl<T> From<T> for Atomic<T> {
    fn from(value: T) -> Self {
        Atomic::new(value)
    }
}

impl<'g, T: ?Sized + Pointable> From<Shared<'g, T>> for Atomic<T> {
    fn from(shared: Shared<'g, T>) -> Self {
        Atomic::of(shared.into_usize())
    }
}

/// # Panics
/// If the pointer is not aligned.
impl<T> From<*const T> for Atomic<T> {
    fn from(raw: *const T) -> Self {
        Atomic::of(word_of(raw))
    }
}
