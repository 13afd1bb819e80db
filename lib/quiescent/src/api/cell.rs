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

use std::fmt;
use std::marker::PhantomData;
use std::ptr;

use crate::guard::{Guard, read_lock};
use crate::inner::prim::{AtomicPtr, Ordering, const_new};
use crate::retired::Retired;

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
pub struct RcuCell<T: Send + Sync + 'static>(RcuOption<T>);

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
pub struct RcuOption<T: Send + Sync + 'static> {
    pointer: AtomicPtr<T>,
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

/// What [`RcuOption::compare_exchange`] gives back when it does not.
pub type ExchangedOption<'g, T> = Exchanged<Option<T>, Option<&'g T>>;

// SAFETY: the cell owns a T, hands out &T to any thread, and may be dropped on another than it was
// made on: as for Arc, both bounds are needed for either.
unsafe impl<T: Send + Sync> Send for RcuOption<T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Sync for RcuOption<T> {}
fn into_raw<T>(value: Option<T>) -> *mut T {
    value.map_or(ptr::null_mut(), |value| Box::into_raw(Box::new(value)))
}

impl<T: Send + Sync + 'static> RcuOption<T> {
    const_new! {
        /// Nothing. Can be the value of a `static`.
        pub fn empty() -> RcuOption<T> {
            RcuOption { pointer: AtomicPtr::new(ptr::null_mut()), owns: PhantomData }
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

    /// This value, or nothing. Allocates.
    pub fn new(value: Option<T>) -> RcuOption<T> {
        RcuOption {
            pointer: AtomicPtr::new(into_raw(value)),
            owns: PhantomData,
        }
    }

    /// The present value. One acquire load.
    #[inline(always)]
    pub fn load<'g>(&'g self, guard: &'g Guard) -> Option<&'g T> {
        let _ = guard;
        // SAFETY: null, or a value that was published whole [PTR-1]; it is given up only after a grace
        // period that starts after its replacement, which `guard` holds off, or with the cell, which
        // the result borrows.
        unsafe { self.pointer.load(Ordering::Acquire).as_ref() }
    }

    /// Replaces the value. Does not wait; the old value comes back.
    pub fn store(&self, value: Option<T>) -> Option<Retired<T>> {
        let old = self.pointer.swap(into_raw(value), Ordering::AcqRel); // [PTR-1]
        Retired::from_raw(old)
    }

    /// Replaces the value if the cell still holds `current`, as loaded under `guard`: the same object,
    /// not an equal one. (It cannot be another object at the same address: the guard keeps it.)
    ///
    /// # Errors
    /// The new value back, with what the cell held.
    pub fn compare_exchange<'g>(
        &'g self,
        current: Option<&'g T>,
        new: Option<T>,
        guard: &'g Guard,
    ) -> Result<Option<Retired<T>>, ExchangedOption<'g, T>> {
        let _ = guard;
        let expected = current.map_or(ptr::null_mut(), |value| ptr::from_ref(value).cast_mut());
        let raw = into_raw(new);
        match self
            .pointer
            .compare_exchange(expected, raw, Ordering::AcqRel, Ordering::Acquire)
        {
            Ok(old) => Ok(Retired::from_raw(old)), // [PTR-1]
            Err(held) => {
                // SAFETY: `raw` was not published; it is null or a box of ours.
                let new = (!raw.is_null()).then(|| *unsafe { Box::from_raw(raw) });
                // SAFETY: as in `load`.
                let current = unsafe { held.as_ref() };
                Err(Exchanged { new, current })
            }
        }
    }

    /// Replaces the value by one made from it, trying again until nobody interferes. `f` may run
    /// several times, inside a section of its own.
    pub fn update(&self, mut f: impl FnMut(Option<&T>) -> Option<T>) -> Option<Retired<T>> {
        let guard = read_lock();
        loop {
            let current = self.load(&guard);
            if let Ok(old) = self.compare_exchange(current, f(current), &guard) {
                return old;
            }
        }
    }
}

impl<T: Send + Sync + 'static> Drop for RcuOption<T> {
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
        RcuCell(RcuOption::new(Some(value)))
    }

    /// The present value. One acquire load.
    #[inline(always)]
    pub fn load<'g>(&'g self, guard: &'g Guard) -> &'g T {
        let _ = guard;
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
    pub fn store(&self, value: T) -> Retired<T> {
        never_empty(self.0.store(Some(value)))
    }

    /// As [`store`](RcuCell::store): the same operation under the name that says it returns something.
    pub fn swap(&self, value: T) -> Retired<T> {
        self.store(value)
    }

    /// Replaces the value if the cell still holds `current`, as loaded under `guard`: the same object,
    /// not an equal one.
    ///
    /// # Errors
    /// The new value back, with what the cell holds.
    ///
    /// ```
    /// let cell = quiescent::RcuCell::new(1);
    /// let retired = quiescent::read(|guard| {
    ///     let seen = cell.load(guard);
    ///     cell.compare_exchange(seen, seen + 1, guard).expect("nobody else writes")
    /// });
    /// assert_eq!(*retired.wait(), 1);
    /// ```
    pub fn compare_exchange<'g>(
        &'g self,
        current: &'g T,
        new: T,
        guard: &'g Guard,
    ) -> Result<Retired<T>, Exchanged<T, &'g T>> {
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
    pub fn update(&self, mut f: impl FnMut(&T) -> T) -> Retired<T> {
        never_empty(self.0.update(|current| current.map(&mut f)))
    }
}

/// An `RcuCell` starts with a value and only ever exchanges it for another.
fn never_empty<T>(value: Option<T>) -> T {
    value.expect("an RcuCell always holds a value")
}

impl<T: Send + Sync + fmt::Debug> fmt::Debug for RcuCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let guard = read_lock();
        f.debug_tuple("RcuCell").field(self.load(&guard)).finish()
    }
}

impl<T: Send + Sync + fmt::Debug> fmt::Debug for RcuOption<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let guard = read_lock();
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
