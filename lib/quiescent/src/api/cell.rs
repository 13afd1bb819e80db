//! Owning pointers that readers load without waiting: [`RcuCell`], [`RcuOption`], and what they give
//! back when a value is replaced: [`Retired`].
//!
//! # Why it is sound
//! A reference from `load` borrows both the cell and the guard, so it ends before the cell is dropped
//! and before the section does. A replaced value comes back as a [`Retired`], which only gives it up
//! after a grace period that started later than the replacement. Values are shared between threads and
//! may be dropped on another one, hence `T: Send + Sync + 'static`.
//!
//! # Edges
//! `[PTR-1]` the new value's contents, release of the pointer; its load acquires. (A consume load would
//! do; on x86-64 an acquire costs the same.)
//!
//! What must not compile, does not:
//!
//! ```compile_fail,E0597
//! let cell = quiescent::RcuCell::new(1);
//! let kept;
//! {
//!     let guard = quiescent::read_lock();
//!     kept = cell.load(&guard); // outlives the section
//! }
//! println!("{kept}");
//! ```
//! ```compile_fail,E0505
//! let cell = quiescent::RcuCell::new(1);
//! let guard = quiescent::read_lock();
//! let seen = cell.load(&guard);
//! drop(cell); // while it is being read
//! println!("{seen}");
//! ```
//! ```compile_fail,E0502
//! let cell = quiescent::RcuCell::new(1);
//! let mut guard = quiescent::read_lock();
//! let seen = cell.load(&guard);
//! guard.repin(); // ends what was read before
//! println!("{seen}");
//! ```
//! ```compile_fail,E0277
//! let guard = quiescent::read_lock();
//! std::thread::spawn(move || drop(guard)); // a guard stays on its thread
//! ```
//! ```compile_fail,E0277
//! let cell = quiescent::RcuCell::new(std::rc::Rc::new(1)); // not Send
//! std::thread::scope(|s| { s.spawn(|| quiescent::read(|g| **cell.load(g))); });
//! ```
//! ```compile_fail,E0277
//! fn shared<T: Sync>(_: &T) {}
//! shared(&quiescent::RcuCell::new(std::cell::Cell::new(1))); // not Sync
//! ```
//! ```compile_fail,E0597
//! let local = String::from("short-lived");
//! let cell = quiescent::RcuCell::new(&local); // not 'static
//! cell.store(&local);
//! drop(local);
//! ```
//! A cell of a domain is read under guards of that domain:
//! ```compile_fail,E0277
//! let domain = quiescent::Domain::new();
//! let cell = quiescent::RcuCell::new_in(1, &domain);
//! quiescent::read(|guard| *cell.load(guard));
//! ```
//! ```compile_fail,E0277
//! let srcu = quiescent::Srcu::new();
//! let cell = quiescent::RcuCell::new_in(1, &srcu);
//! quiescent::Domain::new().read(|guard| *cell.load(guard));
//! ```
//! ```compile_fail,E0277
//! let srcu = quiescent::Srcu::new();
//! let cell = quiescent::RcuCell::new(1);
//! srcu.read(|guard| *cell.load(guard));
//! ```
//! ```compile_fail,E0505
//! let srcu = quiescent::Srcu::new();
//! let cell = quiescent::RcuCell::new_in(1, srcu.clone());
//! let guard = srcu.read_lock();
//! let seen = cell.load(&guard);
//! drop(guard); // while it is being read
//! println!("{seen}");
//! ```
//! ```compile_fail,E0505
//! let domain = quiescent::Domain::new();
//! let cell = quiescent::RcuCell::new_in(1, &domain);
//! drop(domain); // while a cell borrows it
//! cell.store(2);
//! ```

use std::fmt;
use std::marker::PhantomData;
use std::ptr::{self, NonNull};

use super::guard::Guard;
use super::handle::{Global, Handle, Reads, is_same};
use super::retired::Retired;
use crate::sync::{AtomicPtr, Ordering, const_new};

/// A value that readers see without waiting and writers replace whole.
///
/// ```
/// use quiescent::{RcuCell, read};
///
/// let config = RcuCell::new(vec![1, 2, 3]);
/// assert_eq!(read(|g| config.load(g).len()), 3);
/// let old = config.store(vec![4]);
/// assert_eq!(*old.wait(), vec![1, 2, 3]); // after a grace period it is ours again
/// ```
/// A cell of another domain:
/// ```
/// use quiescent::{Domain, RcuCell};
///
/// let domain = Domain::new();
/// let table = RcuCell::new_in(vec![1, 2, 3], &domain);
/// assert_eq!(domain.read(|guard| table.load(guard).len()), 3);
/// let old = table.store(vec![4]);
/// assert_eq!(*old.wait(), [1, 2, 3]);
/// ```
pub struct RcuCell<T: Send + Sync + 'static, D: Handle = Global>(RcuOption<T, D>);

/// As [`RcuCell`], but it may be empty.
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
    pointer: AtomicPtr<T>,
    domain: D,
    owns: PhantomData<Box<T>>,
}

/// A value that was not exchanged: the cell held another object than expected.
#[derive(Debug)]
pub struct Exchanged<N, C> {
    /// The new value, back.
    pub new: N,
    /// What the cell held.
    pub current: C,
}

impl<N, C> fmt::Display for Exchanged<N, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not exchanged: another object than expected is there; load it and try again")
    }
}

impl<N: fmt::Debug, C: fmt::Debug> std::error::Error for Exchanged<N, C> {}

/// What [`RcuOption::compare_exchange`] gives back when it does not.
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
        /// Nothing. Can be the value of a `static`.
        pub fn empty() -> RcuOption<T> {
            RcuOption::empty_in(Global)
        }
    }

    /// This value, or nothing. Allocates.
    pub fn new(value: Option<T>) -> RcuOption<T> {
        RcuOption::new_in(value, Global)
    }
}

impl<T: Send + Sync + 'static, D: Handle> RcuOption<T, D> {
    const_new! {
        /// Nothing, read under sections of `domain`. Can be the value of a `static`.
        ///
        /// ```
        /// use quiescent::{Domain, RcuOption};
        ///
        /// static DOMAIN: Domain = Domain::new();
        /// static SLOT: RcuOption<u32, &Domain> = RcuOption::empty_in(&DOMAIN);
        /// assert_eq!(DOMAIN.read(|guard| SLOT.load(guard).copied()), None);
        /// ```
        pub fn empty_in(domain: D) -> RcuOption<T, D> {
            RcuOption { pointer: AtomicPtr::new(ptr::null_mut()), domain, owns: PhantomData }
        }
    }

    /// As [`new`](RcuOption::new), read under sections of `domain`.
    pub fn new_in(value: Option<T>, domain: D) -> RcuOption<T, D> {
        RcuOption {
            pointer: AtomicPtr::new(into_raw(value)),
            domain,
            owns: PhantomData,
        }
    }

    /// The value itself, to change in place: nobody else can see it.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        // SAFETY: a box of ours; `&mut self` means that no reader has a reference from `load`.
        unsafe { self.pointer.load(Ordering::Acquire).as_mut() }
    }

    /// The value itself; nobody else can see it.
    pub fn into_inner(self) -> Option<T> {
        let raw = self.pointer.swap(ptr::null_mut(), Ordering::AcqRel);
        // SAFETY: a box of ours; owning `self` means that no reader has a reference from `load`.
        (!raw.is_null()).then(|| *unsafe { Box::from_raw(raw) })
    }

    /// The guard is one of the cell's own domain.
    #[track_caller]
    #[inline(always)]
    fn look_at<E: Handle + Reads<D::Brand>>(&self, guard: &Guard<E>) {
        assert!(
            is_same(&self.domain, guard.domain()),
            "a guard of another domain: this cell is not read under it"
        );
    }

    /// The present value. One acquire load.
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

    /// What was replaced.
    fn old(&self, raw: *mut T) -> Option<Retired<T, D>> {
        let old = NonNull::new(raw)?;
        // SAFETY: a box of ours; sections that open from now on do not find it, and there is one `Retired` for it.
        Some(unsafe { Retired::from_raw_in(old, self.domain.clone()) })
    }

    /// Replaces the value. Does not wait; the old value comes back.
    #[doc(alias = "swap")]
    #[doc(alias = "rcu_assign_pointer")]
    pub fn store(&self, value: Option<T>) -> Option<Retired<T, D>> {
        let old = self.pointer.swap(into_raw(value), Ordering::AcqRel); // [PTR-1]
        self.old(old)
    }

    /// Replaces the value if the cell still holds `current`, as loaded under `guard`: the same object,
    /// not an equal one. (It cannot be another object at the same address: the guard keeps it.)
    ///
    /// # Errors
    /// The new value back, with what the cell held.
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
        unsafe { self.exchange(expected, into_raw(new)) }
    }

    /// # Safety
    /// A section of the domain is open as long as what comes back is used; `new` is null or a box that nobody else has.
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

    /// Replaces the value by one made from it, trying again until nobody interferes. `f` may run
    /// several times, inside a section of its own.
    #[doc(alias = "rcu")]
    pub fn update(&self, mut f: impl FnMut(Option<&T>) -> Option<T>) -> Option<Retired<T, D>> {
        let section = Guard::new_in(self.domain.clone());
        loop {
            let held = self.pointer.load(Ordering::Acquire); // [PTR-1]
            // SAFETY: as in `load`: `section` is one of the cell's own domain.
            let new = into_raw(f(unsafe { held.as_ref() }));
            // SAFETY: as above.
            if let Ok(old) = unsafe { self.exchange(held, new) } {
                drop(section);
                return old;
            }
        }
    }
}

impl<T: Send + Sync + 'static, D: Handle> Drop for RcuOption<T, D> {
    fn drop(&mut self) {
        let raw = self.pointer.load(Ordering::Acquire);
        if !raw.is_null() {
            // SAFETY: a box of ours; whoever loaded it borrowed the cell, so nobody reads it any more.
            drop(unsafe { Box::from_raw(raw) });
        }
    }
}

impl<T: Send + Sync + 'static> RcuCell<T> {
    /// A cell with this value. Allocates.
    pub fn new(value: T) -> RcuCell<T> {
        RcuCell::new_in(value, Global)
    }
}

impl<T: Send + Sync + 'static, D: Handle> RcuCell<T, D> {
    /// As [`new`](RcuCell::new), read under sections of `domain`: `&DOMAIN`, or a clone of it, which keeps it alive.
    pub fn new_in(value: T, domain: D) -> RcuCell<T, D> {
        RcuCell(RcuOption::new_in(Some(value), domain))
    }

    /// The present value. One acquire load.
    ///
    /// # Panics
    /// If the guard is of another domain with the same tag:
    ///
    /// ```should_panic
    /// use quiescent::{Domain, RcuCell};
    ///
    /// let (one, other) = (Domain::new(), Domain::new());
    /// let cell = RcuCell::new_in(1, &one);
    /// other.read(|guard| *cell.load(guard)); // panics: a guard of another domain
    /// ```
    #[doc(alias = "load_full")]
    #[doc(alias = "rcu_dereference")]
    #[track_caller]
    #[inline(always)]
    pub fn load<'g, E: Handle + Reads<D::Brand>>(&'g self, guard: &'g Guard<E>) -> &'g T {
        self.0.look_at(guard);
        // SAFETY: as in `RcuOption::load`, and never null: no operation of this type stores null.
        unsafe { &*self.0.pointer.load(Ordering::Acquire) }
    }

    /// The value itself, to change in place: nobody else can see it.
    pub fn get_mut(&mut self) -> &mut T {
        never_empty(self.0.get_mut())
    }

    /// The value itself; nobody else can see it.
    pub fn into_inner(self) -> T {
        never_empty(self.0.into_inner())
    }

    /// Replaces the value. Does not wait; the old value comes back.
    #[doc(alias = "swap")]
    #[doc(alias = "rcu_assign_pointer")]
    pub fn store(&self, value: T) -> Retired<T, D> {
        never_empty(self.0.store(Some(value)))
    }

    /// Replaces the value if the cell still holds `current`, as loaded under `guard`: the same object,
    /// not an equal one.
    ///
    /// # Errors
    /// The new value back, with what the cell holds.
    ///
    /// # Panics
    /// If the guard is of another domain with the same tag.
    ///
    /// ```
    /// let cell = quiescent::RcuCell::new(1);
    /// let retired = quiescent::read(|guard| {
    ///     let seen = cell.load(guard);
    ///     cell.compare_exchange(seen, seen + 1, guard).expect("nobody else writes")
    /// });
    /// assert_eq!(*retired.wait(), 1);
    /// ```
    #[track_caller]
    pub fn compare_exchange<'g, E: Handle + Reads<D::Brand>>(
        &'g self,
        current: &'g T,
        new: T,
        guard: &'g Guard<E>,
    ) -> Result<Retired<T, D>, Exchanged<T, &'g T>> {
        match self.0.compare_exchange(Some(current), Some(new), guard) {
            Ok(old) => Ok(never_empty(old)),
            Err(Exchanged { new, current }) => Err(Exchanged {
                new: never_empty(new),
                current: never_empty(current),
            }),
        }
    }

    /// Replaces the value by one made from it, trying again until nobody interferes. `f` may run
    /// several times, inside a section of its own.
    ///
    /// ```
    /// let counter = quiescent::RcuCell::new(1);
    /// counter.update(|n| n + 1).wait();
    /// assert_eq!(quiescent::read(|g| *counter.load(g)), 2);
    /// ```
    #[doc(alias = "rcu")]
    pub fn update(&self, mut f: impl FnMut(&T) -> T) -> Retired<T, D> {
        never_empty(self.0.update(|current| current.map(&mut f)))
    }
}

/// An `RcuCell` starts with a value and only ever exchanges it for another.
fn never_empty<T>(value: Option<T>) -> T {
    value.expect("an RcuCell always holds a value")
}

impl<T: Send + Sync + fmt::Debug, D: Handle> fmt::Debug for RcuCell<T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let guard = Guard::new_in(self.0.domain.clone());
        f.debug_tuple("RcuCell").field(self.load(&guard)).finish()
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

impl<T: Send + Sync + Default> Default for RcuCell<T> {
    fn default() -> RcuCell<T> {
        RcuCell::new(T::default())
    }
}

impl<T: Send + Sync> Default for RcuOption<T> {
    fn default() -> RcuOption<T> {
        RcuOption::empty()
    }
}
