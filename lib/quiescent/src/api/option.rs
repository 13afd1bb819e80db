//! An owning pointer that may be empty: [`RcuOption`], which [`RcuCell`](crate::RcuCell) is made of.
//! [`cell`](super::cell) explains why it is sound.

use std::convert::Infallible;
use std::fmt;
use std::marker::PhantomData;
use std::ptr::{self, NonNull};

use super::guard::Guard;
use super::handle::{Global, Handle, Reads, is_same};
use super::held::Held;
use super::retired::Retired;
use super::updates::{self, Update};
use quiescent_core::const_new;
use quiescent_core::prim::{AtomicPtr, Ordering};

/// As [`RcuCell`](crate::RcuCell), but may be empty.
///
/// ```
/// use quiescent::{RcuOption, read};
///
/// let slot = RcuOption::empty();
/// assert_eq!(read(|g| slot.load(g).copied()), None);
/// assert!(slot.store(Some(7)).is_none());
/// assert_eq!(read(|g| slot.load(g).copied()), Some(7));
/// ```
pub struct RcuOption<T: Send + Sync + 'static, D: Handle = Global> {
    pub(super) pointer: AtomicPtr<T>,
    pub(super) domain: D,
    weight: Option<fn(&T) -> usize>,
    owns: PhantomData<Box<T>>,
}

/// A value that was not exchanged: the cell held another object than expected.
pub struct Exchanged<N, C> {
    /// The new value, returned.
    pub new: N,
    /// What the cell holds.
    pub current: C,
}

impl<N, C> fmt::Display for Exchanged<N, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not exchanged: another object than expected is there; load it and try again")
    }
}

impl<N, C> fmt::Debug for Exchanged<N, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exchanged").finish_non_exhaustive()
    }
}

impl<N, C> std::error::Error for Exchanged<N, C> {}

/// The error of [`RcuOption::compare_exchange`].
pub type ExchangedOption<'g, T> = Exchanged<Option<T>, Option<&'g T>>;

// SAFETY: the cell owns a T, hands out &T to any thread, and may be dropped on another than it was
// made on: as for Arc, both bounds are needed for either.
unsafe impl<T: Send + Sync, D: Handle + Send> Send for RcuOption<T, D> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync, D: Handle + Sync> Sync for RcuOption<T, D> {}

fn into_raw<T>(value: Option<T>) -> *mut T {
    value.map_or(ptr::null_mut(), |value| Box::into_raw(Box::new(value)))
}

impl<T: Send + Sync + 'static> RcuOption<T> {
    const_new! {
        /// Makes an empty cell. Can be the value of a `static`.
        pub fn empty() -> RcuOption<T> {
            RcuOption::empty_in(Global)
        }
    }

    /// Makes a cell with this value, or an empty one. Allocates if there is a value.
    pub fn new(value: Option<T>) -> RcuOption<T> {
        RcuOption::new_in(value, Global)
    }
}

impl<T: Send + Sync + 'static, D: Handle> RcuOption<T, D> {
    const_new! {
        /// Makes an empty cell for readers under sections of `domain`. Can be the value of a `static`.
        ///
        /// ```
        /// use quiescent::{Domain, RcuOption};
        ///
        /// static DOMAIN: Domain = Domain::new();
        /// static SLOT: RcuOption<u32, &Domain> = RcuOption::empty_in(&DOMAIN);
        /// assert_eq!(DOMAIN.read(|guard| SLOT.load(guard).copied()), None);
        /// ```
        pub fn empty_in(domain: D) -> RcuOption<T, D> {
            RcuOption { pointer: AtomicPtr::new(ptr::null_mut()), domain, weight: None, owns: PhantomData }
        }
    }

    /// As [`new`](RcuOption::new), for readers under sections of `domain`.
    pub fn new_in(value: Option<T>, domain: D) -> RcuOption<T, D> {
        RcuOption {
            pointer: AtomicPtr::new(into_raw(value)),
            domain,
            weight: None,
            owns: PhantomData,
        }
    }

    /// As [`RcuCell::with_weight`](crate::RcuCell::with_weight).
    ///
    /// ```
    /// use quiescent::{RcuOption, Weigh};
    ///
    /// static NOTE: RcuOption<String> = RcuOption::empty().with_weight(Weigh::owned_bytes);
    /// NOTE.store(Some("an announcement".repeat(1000)));
    /// NOTE.store(None); // the old value counts as 15 000 bytes more than its size
    /// ```
    #[must_use = "this returns the cell"]
    pub const fn with_weight(mut self, weight: fn(&T) -> usize) -> RcuOption<T, D> {
        self.weight = Some(weight);
        self
    }

    /// The value, to change in place: `&mut self` excludes readers.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        // SAFETY: a box of ours; `&mut self` means that no reader has a reference from `load`.
        unsafe { self.pointer.load(Ordering::Acquire).as_mut() }
    }

    /// Consumes the cell and returns the value.
    pub fn into_inner(self) -> Option<T> {
        let raw = self.pointer.swap(ptr::null_mut(), Ordering::AcqRel);
        // SAFETY: a box of ours; owning `self` means that no reader has a reference from `load`.
        (!raw.is_null()).then(|| *unsafe { Box::from_raw(raw) })
    }

    /// Panics if the guard is not of the cell's own domain.
    #[track_caller]
    #[inline(always)]
    pub(super) fn look_at<E: Handle + Reads<D::Brand>>(&self, guard: &Guard<E>) {
        assert!(
            is_same(&self.domain, guard.domain()),
            "a guard of another domain: this cell is not read under it"
        );
    }

    /// The current value. Costs one acquire load.
    ///
    /// # Panics
    /// If the guard is of another domain with the same tag.
    #[doc(alias = "load_full")]
    #[doc(alias = "rcu_dereference")]
    #[track_caller]
    #[inline(always)]
    pub fn load<'g, E: Handle + Reads<D::Brand>>(&'g self, guard: &'g Guard<E>) -> Option<&'g T> {
        self.look_at(guard);
        // SAFETY: null, or a value that was published whole [PTR-1]; it is given up only after a grace
        // period that starts after its replacement, which `guard` holds off, or with the cell, which
        // the result borrows.
        unsafe { self.pointer.load(Ordering::Acquire).as_ref() }
    }

    /// As [`RcuCell::hold`](crate::RcuCell::hold), if there is a value; if not, the section ends.
    ///
    /// # Panics
    /// If the guard is of another domain with the same tag.
    #[track_caller]
    pub fn hold<E: Handle + Reads<D::Brand>>(&self, guard: Guard<E>) -> Option<Held<'_, T, E>> {
        let value = NonNull::from(self.load(&guard)?);
        // SAFETY: as in `load`: the guard keeps it, or the cell, which the result borrows.
        Some(unsafe { Held::new(value, guard) })
    }

    /// A copy of the value, made inside a section of its own.
    pub fn get_cloned(&self) -> Option<T>
    where
        T: Clone,
    {
        self.load(&Guard::new_in(self.domain.clone())).cloned()
    }

    /// The replaced value.
    fn old(&self, raw: *mut T) -> Option<Retired<T, D>> {
        let old = NonNull::new(raw)?;
        // SAFETY: a box of ours; sections that open later do not find it, and it becomes one `Retired`.
        Some(unsafe { Retired::from_raw_in(old, self.domain.clone()) })
    }

    /// Replaces the value and returns the old one. Does not wait.
    #[doc(alias = "swap")]
    #[doc(alias = "rcu_assign_pointer")]
    pub fn store(&self, value: Option<T>) -> Option<Retired<T, D>> {
        self.replace(value)
    }

    /// Inlined also where a cell is never empty.
    #[inline(always)]
    pub(super) fn replace(&self, value: Option<T>) -> Option<Retired<T, D>> {
        let old = self.pointer.swap(into_raw(value), Ordering::AcqRel); // [PTR-1]
        updates::note(self);
        self.weigh(self.old(old))
    }

    /// Empties the cell and returns the old value. Does not wait.
    ///
    /// ```
    /// let slot = quiescent::RcuOption::new(Some(7));
    /// assert_eq!(slot.take().map(|old| *old.wait()), Some(7));
    /// assert!(slot.take().is_none());
    /// ```
    pub fn take(&self) -> Option<Retired<T, D>> {
        self.store(None)
    }

    /// Weighs a replaced value, once. It is `Retired` by now: if the function panics, it is still freed.
    #[inline]
    fn weigh(&self, old: Option<Retired<T, D>>) -> Option<Retired<T, D>> {
        let old = old?;
        Some(match self.weight {
            Some(weight) => {
                let bytes = weight(&old);
                old.with_owned_bytes(bytes)
            }
            None => old,
        })
    }

    /// Replaces the value if the cell still holds `current`, which was loaded under `guard`. Compares
    /// addresses, not contents. (No other object can have the same address: the guard keeps the first one
    /// from being freed.)
    ///
    /// # Errors
    /// Returns the new value, and what the cell holds, if the cell holds another object.
    ///
    /// # Panics
    /// If the guard is of another domain with the same tag.
    #[track_caller]
    pub fn compare_exchange<'g, E: Handle + Reads<D::Brand>>(
        &'g self,
        current: Option<&'g T>,
        new: Option<T>,
        guard: &'g Guard<E>,
    ) -> Result<Option<Retired<T, D>>, ExchangedOption<'g, T>> {
        self.look_at(guard);
        let expected = current.map_or(ptr::null_mut(), |value| ptr::from_ref(value).cast_mut());
        // SAFETY: the guard keeps what was loaded and what is held now.
        let old = unsafe { self.exchange(expected, into_raw(new)) }?;
        updates::note(self);
        Ok(self.weigh(old))
    }

    /// # Safety
    /// A section of the domain is open while the result is used; `new` is null or a box that no other thread
    /// knows.
    unsafe fn exchange(
        &self,
        expected: *mut T,
        new: *mut T,
    ) -> Result<Option<Retired<T, D>>, ExchangedOption<'_, T>> {
        let order = (Ordering::AcqRel, Ordering::Acquire); // [PTR-1]
        match self
            .pointer
            .compare_exchange(expected, new, order.0, order.1)
        {
            Ok(old) => Ok(self.old(old)),
            Err(held) => {
                // SAFETY: it was not published; it is null or a box of ours.
                let new = (!new.is_null()).then(|| *unsafe { Box::from_raw(new) });
                // SAFETY: as in `load`.
                let current = unsafe { held.as_ref() };
                Err(Exchanged { new, current })
            }
        }
    }

    /// As [`RcuCell::update`](crate::RcuCell::update).
    ///
    /// # Panics
    /// As [`RcuCell::update`](crate::RcuCell::update).
    #[doc(alias = "rcu")]
    #[track_caller]
    pub fn update(&self, mut f: impl FnMut(Option<&T>) -> Option<T>) -> Option<Retired<T, D>> {
        let always = self.change(|current| Ok::<_, Infallible>((f(current), ())));
        let Ok((old, ())) = always;
        old
    }

    /// As [`RcuCell::update_with`](crate::RcuCell::update_with): `Some(None)` empties the cell, `None` leaves
    /// it as it is.
    ///
    /// # Panics
    /// As [`RcuCell::update`](crate::RcuCell::update).
    #[track_caller]
    pub fn update_with<R>(
        &self,
        mut f: impl FnMut(Option<&T>) -> (Option<Option<T>>, R),
    ) -> (Option<Retired<T, D>>, R) {
        let changed = self.change(|current| match f(current) {
            (Some(new), result) => Ok((new, result)),
            (None, result) => Err(result),
        });
        changed.unwrap_or_else(|result| (None, result))
    }

    /// As [`RcuCell::try_update`](crate::RcuCell::try_update).
    ///
    /// # Errors
    /// That of `f`; the cell is as it was.
    ///
    /// # Panics
    /// As [`RcuCell::update`](crate::RcuCell::update).
    #[track_caller]
    pub fn try_update<E>(
        &self,
        mut f: impl FnMut(Option<&T>) -> Result<Option<T>, E>,
    ) -> Result<Option<Retired<T, D>>, E> {
        self.change(|current| Ok((f(current)?, ())))
            .map(|(old, ())| old)
    }

    /// The loop of the updates. `f` returns the new value and something of the caller's, or an error, and
    /// then the cell stays as it is.
    #[track_caller]
    fn change<R, E>(
        &self,
        mut f: impl FnMut(Option<&T>) -> Result<(Option<T>, R), E>,
    ) -> Result<(Option<Retired<T, D>>, R), E> {
        let section = Guard::new_in(self.domain.clone());
        let update = Update::of(self);
        let running = update.enter();
        loop {
            let held = self.pointer.load(Ordering::Acquire); // [PTR-1]
            // SAFETY: as in `load`: `section` is one of the cell's own domain.
            let (new, result) = f(unsafe { held.as_ref() })?;
            // SAFETY: as above.
            if let Ok(old) = unsafe { self.exchange(held, into_raw(new)) } {
                drop((running, section)); // before the function that weighs
                updates::note(self); // in those that called this one
                return Ok((self.weigh(old), result));
            }
            update.failed();
        }
    }
}

impl<T: Send + Sync + 'static, D: Handle> Drop for RcuOption<T, D> {
    fn drop(&mut self) {
        let raw = self.pointer.load(Ordering::Acquire);
        if !raw.is_null() {
            // SAFETY: a box of ours; readers borrow the cell, so no reader is left.
            drop(unsafe { Box::from_raw(raw) });
        }
    }
}

impl<T: Send + Sync + fmt::Debug, D: Handle> fmt::Debug for RcuOption<T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let guard = Guard::new_in(self.domain.clone());
        f.debug_tuple("RcuOption")
            .field(&self.load(&guard))
            .finish()
    }
}

impl<T: Send + Sync> Default for RcuOption<T> {
    fn default() -> RcuOption<T> {
        RcuOption::empty()
    }
}
